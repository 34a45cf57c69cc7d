"""Knowledge tables about words, jobs and things."""
from .world import table

OPPOSITES = [p.split("/") for p in """hot/cold big/small up/down left/right day/night black/white happy/sad fast/slow old/young new/old good/bad
high/low long/short open/closed full/empty hard/soft wet/dry light/dark early/late near/far strong/weak rich/poor clean/dirty loud/quiet
thick/thin wide/narrow heavy/light easy/difficult right/wrong true/false yes/no in/out on/off above/below front/back first/last before/after
always/never all/none more/less many/few push/pull give/take buy/sell win/lose love/hate start/stop begin/end come/go arrive/leave laugh/cry
remember/forget ask/answer borrow/lend build/destroy increase/decrease inside/outside top/bottom north/south east/west summer/winter sweet/sour
smooth/rough brave/afraid safe/dangerous sharp/blunt deep/shallow alive/dead asleep/awake cheap/expensive beautiful/ugly polite/rude
friend/enemy war/peace truth/lie success/failure question/answer beginning/end same/different together/apart tight/loose
tall/short fat/thin healthy/sick simple/complicated bright/dim fresh/stale odd/even add/subtract multiply/divide teach/learn lead/follow
accept/refuse raise/lower float/sink freeze/melt hero/villain""".split()]
SYNONYMS = [p.split("/") for p in """happy/glad sad/unhappy big/large small/little fast/quick smart/clever begin/start end/finish pretty/beautiful
angry/mad tired/sleepy scared/afraid rich/wealthy hard/difficult easy/simple quiet/silent funny/amusing strange/odd brave/courageous kind/nice
cold/chilly hot/boiling shout/yell talk/speak look/watch jump/leap run/sprint present/gift stone/rock road/street child/kid house/home job/work
error/mistake answer/reply choose/pick fix/repair help/aid idea/thought ill/sick near/close wrong/incorrect right/correct
tasty/delicious important/essential enormous/huge tiny/minute ancient/old""".split()]
PLURALS = [p.split("/") for p in """mouse/mice child/children man/men woman/women foot/feet tooth/teeth goose/geese person/people sheep/sheep fish/fish
ox/oxen leaf/leaves knife/knives wife/wives life/lives wolf/wolves half/halves shelf/shelves baby/babies city/cities story/stories
party/parties berry/berries fly/flies box/boxes bus/buses glass/glasses dish/dishes church/churches watch/watches potato/potatoes tomato/tomatoes
hero/heroes cat/cats dog/dogs book/books tree/trees house/houses car/cars apple/apples bird/birds star/stars girl/girls boy/boys toy/toys key/keys
monkey/monkeys piano/pianos photo/photos deer/deer cactus/cacti lady/ladies family/families country/countries fox/foxes brush/brushes""".split()]
PASTS = [p.split("/") for p in """go/went see/saw eat/ate drink/drank run/ran swim/swam sing/sang write/wrote read/read come/came give/gave take/took
make/made find/found think/thought buy/bought bring/brought teach/taught catch/caught fall/fell fly/flew know/knew grow/grew draw/drew
break/broke speak/spoke sleep/slept keep/kept leave/left feel/felt meet/met tell/told say/said hear/heard hold/held stand/stood sit/sat win/won
begin/began forget/forgot get/got have/had do/did be/was walk/walked play/played jump/jumped laugh/laughed cry/cried help/helped try/tried
stop/stopped dance/danced cook/cooked paint/painted""".split()]
RHYMES = [g.split("/") for g in """cat/hat/bat/mat/rat dog/fog/log/frog sun/fun/run/bun house/mouse blouse/house tree/bee/sea/free day/play/way/say
night/light/bright/right moon/spoon/soon/tune star/car/far/jar rain/train/brain/plain snow/go/slow/know king/ring/sing/wing ball/tall/wall/fall
book/look/cook/hook cake/lake/make/snake bed/red/head/bread fish/dish/wish boat/goat/coat/note blue/shoe/true/you green/queen/seen/bean
hand/sand/land/band heart/start/part/art love/dove/above/glove tell/bell/well/shell nose/rose/toes/close fox/box/socks/rocks pig/big/wig/dig
bear/chair/hair/pear hill/still/will/mill ten/pen/hen/men dream/stream/cream/team sky/high/fly/why time/rhyme/lime/climb gold/cold/old/told
fire/wire/tire/choir stone/bone/phone/alone fine/wine/line/shine cheese/trees/bees/please door/floor/four/more kitten/mitten/written
summer/drummer winter/printer flower/power/tower/shower money/honey/funny/bunny table/able/cable/fable""".split()]
LANGS = ["French", "German", "Spanish", "Italian"]
TRANSLATE = [r.split("/") for r in """hello/bonjour/hallo/hola/ciao|thank you/merci/danke/gracias/grazie|yes/oui/ja/sí/sì|no/non/nein/no/no
good morning/bonjour/guten Morgen/buenos días/buongiorno|good night/bonne nuit/gute Nacht/buenas noches/buonanotte|please/s'il vous plaît/bitte/por favor/per favore
goodbye/au revoir/auf Wiedersehen/adiós/arrivederci|water/eau/Wasser/agua/acqua|bread/pain/Brot/pan/pane|cat/chat/Katze/gato/gatto|dog/chien/Hund/perro/cane
house/maison/Haus/casa/casa|book/livre/Buch/libro/libro|friend/ami/Freund/amigo/amico|sun/soleil/Sonne/sol/sole|moon/lune/Mond/luna/luna
red/rouge/rot/rojo/rosso|blue/bleu/blau/azul/blu|green/vert/grün/verde/verde|one/un/eins/uno/uno|two/deux/zwei/dos/due|three/trois/drei/tres/tre
mother/mère/Mutter/madre/madre|father/père/Vater/padre/padre|love/amour/Liebe/amor/amore|day/jour/Tag/día/giorno|night/nuit/Nacht/noche/notte
milk/lait/Milch/leche/latte|apple/pomme/Apfel/manzana/mela|tree/arbre/Baum/árbol/albero|fish/poisson/Fisch/pez/pesce""".replace("\n", "|").split("|")]

# word | plain definition (after "is")
DEFINITIONS = table("""
a river|a long stream of water that flows to the sea or to a lake
a lake|a large area of water with land all around it
a mountain|a very high hill made of rock
a volcano|a mountain that can throw out hot melted rock and ash
an island|a piece of land with water all around it
a desert|a very dry place where little rain falls and few plants grow
a forest|a large area full of trees
an ocean|a huge area of salt water
a beach|the strip of sand or stones at the edge of the sea
a valley|the low land between hills or mountains
a cave|a hollow place in a rock or under the ground
a waterfall|a place where a river falls down over a cliff
a cloud|a mass of tiny drops of water floating in the sky
rain|water that falls in drops from the clouds
snow|frozen water that falls from the sky in soft white flakes
fog|a cloud that lies close to the ground
a rainbow|an arc of colours in the sky, seen when the sun shines on rain
thunder|the loud noise that follows lightning
lightning|a great flash of electricity in the sky
wind|air that moves
a storm|bad weather with strong wind and often rain, thunder and lightning
an earthquake|a shaking of the ground
a planet|a large round body that travels around a star
a star|a huge hot ball of gas that gives light, like our sun
the sun|the star at the centre of our solar system; it gives us light and heat
the moon|the round body that travels around the Earth and shines at night
a galaxy|a huge group of stars, gas and dust
gravity|the force that pulls things toward each other and keeps us on the ground
electricity|a form of energy that makes lamps shine and machines run
energy|what is needed to move, heat or light something
light|what lets us see; it travels faster than anything else
sound|a shaking of the air that our ears can hear
water|a clear liquid that all living things need
air|the mix of gases around us that we breathe
ice|water that has frozen
fire|the heat, light and flames of something that burns
a plant|a living thing that grows in the ground and makes its food from light
a tree|a tall plant with a trunk, branches and leaves
a flower|the colourful part of a plant that makes seeds
a seed|the small part of a plant from which a new plant grows
a root|the part of a plant that grows under the ground and drinks water
an animal|a living thing that eats, moves and senses the world
a mammal|an animal that feeds its young with milk, like a dog, a whale or a human
a bird|an animal with feathers, two wings and a beak
a reptile|an animal with scales that lays eggs, like a snake or a lizard
an amphibian|an animal that lives both in water and on land, like a frog
an insect|a small animal with six legs
a fish|an animal that lives in water, breathes with gills and swims with fins
a dinosaur|an animal of a group of reptiles that lived millions of years ago
a dragon|a big creature of fairy tales that breathes fire
a unicorn|a horse of fairy tales with one horn on its head
a robot|a machine that can do work by itself
a computer|a machine that follows instructions to work with information
the internet|a network that connects computers all over the world
software|the set of instructions that tells a computer what to do
a program|a list of instructions that a computer carries out
an algorithm|a list of clear steps that solves a problem
a keyboard|a board with keys for typing
a file|a named piece of information stored on a computer
a database|a program that stores information so that it can be found again quickly
a phone|a device for talking with people who are far away
a camera|a device that takes pictures
a clock|a thing that shows the time
a map|a drawing of a place seen from above
a compass|a tool with a needle that points north
a telescope|a tool that makes far things look near
a microscope|a tool that makes very small things look big
a thermometer|a tool that measures how hot or cold it is
a hammer|a tool for hitting nails
a bicycle|a vehicle with two wheels that you drive with your feet
a train|a row of wagons that runs on rails
a ship|a large boat that crosses the sea
an aeroplane|a machine with wings that flies through the air
a car|a vehicle with four wheels and an engine
a bridge|a road built over a river or a valley
a house|a building where people live
a school|a place where children learn
a library|a place with many books that people may read or borrow
a hospital|a place where sick people are made well
a museum|a place where old, rare or beautiful things are shown
a museum guide|a person who explains the things in a museum
a market|a place where people buy and sell things
a garden|a piece of land where flowers or vegetables grow
a city|a large town where many people live
a village|a small group of houses in the country
a country|a land with its own people and government
a king|a man who rules a country and wears a crown
a queen|a woman who rules a country, or the wife of a king
a friend|a person you like and trust
a family|a group of people who belong together, such as parents and children
a book|a set of printed pages that you can read
a story|a telling of things that happened, real or made up
a poem|a short piece of writing with rhythm and often rhyme
a song|words set to music
music|sounds put together so that they are pleasant to hear
a piano|a large instrument with black and white keys
a guitar|an instrument with six strings
a drum|an instrument that you hit
art|the making of beautiful or interesting things, such as paintings
a game|something you play for fun, usually with rules
chess|a board game for two players with kings, queens and pawns
football|a game in which two teams try to kick a ball into a goal
money|what we use to pay for things
a number|a word or sign that says how many
a word|a group of letters that means something
a letter|a sign of the alphabet, or a written message to someone
a sentence|a group of words that says something complete
a verb|a word for doing or being, like run, eat or be
a noun|a word for a person, a place or a thing
an adjective|a word that describes a noun, like big or red
a vowel|one of the letters a, e, i, o and u
a question|a sentence that asks for an answer
a joke|a short story that makes people laugh
a dream|the pictures and stories in your mind while you sleep
sleep|the rest of body and mind, usually at night
happiness|the good feeling you have when things are well
love|a strong warm feeling for someone or something
friendship|the bond between friends
courage|doing what is right although you are afraid
time|what clocks measure: seconds, minutes, hours, days and years
history|the story of what happened in the past
science|the study of how the world works
mathematics|the study of numbers and shapes
a triangle|a shape with three sides
a square|a shape with four equal sides and four right angles
a circle|a perfectly round shape
a cube|a solid shape with six square sides
a heart|the muscle that pumps blood through the body
the brain|the part of the body that thinks and controls the rest
a bone|one of the hard parts that hold up the body
blood|the red liquid that carries food and oxygen through the body
a tooth|one of the hard white parts in the mouth for biting
bread|a food baked from flour and water
cheese|a food made from milk
honey|a sweet food that bees make from nectar
salt|a white mineral that makes food taste better
sugar|a sweet white food made from plants
a vegetable|a part of a plant that we eat, like a carrot
a fruit|the part of a plant that holds the seeds, often sweet, like an apple
breakfast|the first meal of the day
gold|a yellow metal that is rare and valuable
iron|a strong grey metal used for tools and machines
wood|the hard material that trees are made of
glass|a hard clear material made from melted sand
paper|a thin material for writing, made from wood
plastic|a light material made by people, mostly from oil
a holiday|a time when you do not have to work
a birthday|the day on which a person was born, and its yearly return
""", "name", "about")

# job | what they do | where
JOBS = table("""
doctor|makes sick people well|a hospital
nurse|takes care of sick people|a hospital
teacher|teaches children|a school
baker|bakes bread and cakes|a bakery
cook|prepares meals|a kitchen
farmer|grows plants and keeps animals|a farm
firefighter|puts out fires|a fire station
police officer|keeps people safe and enforces the law|a police station
pilot|flies aeroplanes|a cockpit
sailor|works on a ship|a ship
astronaut|travels into space|a spaceship
scientist|studies how the world works|a laboratory
painter|paints pictures or walls|a studio
musician|plays music|a concert hall
writer|writes books and stories|an office
carpenter|makes things from wood|a workshop
plumber|repairs water pipes|people's houses
electrician|installs and repairs electric wires|people's houses
mechanic|repairs cars and machines|a garage
gardener|takes care of plants|a garden
dentist|takes care of teeth|a dental practice
vet|treats sick animals|an animal clinic
librarian|takes care of books|a library
postman|delivers letters|the streets
tailor|makes clothes|a workshop
butcher|sells meat|a butcher's shop
judge|decides in a court of law|a court
lawyer|advises people about the law|an office
engineer|designs machines and buildings|an office
architect|designs buildings|an office
programmer|writes software for computers|an office
photographer|takes pictures|a studio
actor|plays roles in films and plays|a theatre
miner|digs for coal or metal|a mine
fisherman|catches fish|a boat
barber|cuts hair|a barber's shop
waiter|serves food|a restaurant
shepherd|looks after sheep|a meadow
blacksmith|makes things from iron|a forge
clown|makes people laugh|a circus
""", "name", "does", "where")

# object | what it is used for | what it is made of
OBJECTS = table("""
knife|cutting|metal
spoon|eating soup|metal
fork|picking up food|metal
cup|drinking|porcelain
plate|holding food|porcelain
bottle|holding a drink|glass
chair|sitting on|wood
table|putting things on|wood
bed|sleeping in|wood
lamp|giving light|metal and glass
pencil|writing and drawing|wood and graphite
pen|writing|plastic and metal
book|reading|paper
window|letting in light|glass
door|closing a room|wood
key|opening a lock|metal
umbrella|staying dry in the rain|cloth and metal
coat|keeping warm|wool
shoe|protecting the foot|leather
hat|covering the head|felt
scissors|cutting paper or cloth|metal
hammer|hitting nails|metal and wood
saw|cutting wood|metal
nail|fixing things together|iron
rope|tying and pulling|fibres
broom|sweeping the floor|wood and bristles
soap|washing|fat and oils
towel|drying|cotton
mirror|seeing yourself|glass
clock|telling the time|metal and glass
candle|giving light|wax
ball|playing|rubber or leather
bag|carrying things|cloth
tent|sleeping outdoors|cloth
ladder|climbing up|wood or metal
needle|sewing|steel
pillow|resting the head|feathers
blanket|keeping warm in bed|wool
kettle|boiling water|metal
fridge|keeping food cold|metal and plastic
""", "name", "use", "made")

BODY = table("""
eyes|see|two
ears|hear|two
nose|smell|one
tongue|taste|one
hands|hold things|two
legs|walk|two
heart|pump blood|one
lungs|breathe|two
brain|think|one
teeth|bite and chew|thirty-two
stomach|digest food|one
skin|feel and protect the body|one
fingers|grip and touch|ten
toes|keep balance|ten
feet|stand and walk|two
knees|bend the legs|two
elbows|bend the arms|two
thumbs|hold things tightly|two
""", "name", "use", "number")
