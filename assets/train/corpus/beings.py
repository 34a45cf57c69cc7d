"""Tables of living things and people: abilities, bodies, food, jobs, and what is what."""
from .matter import rows

CAN = {  # who: what they can do / what they cannot; "they" is a plural
    "birds": ("fly|sing|lay eggs|build nests|have wings|have feathers|have a beak|live in trees", "read|bark|drive|have fur|give milk|write letters|cook|speak like people|have four legs"),
    "fish": ("swim|live in water|breathe under water|have fins|lay eggs|have scales", "fly|walk|climb trees|sing|read|bark|live in trees|have legs|have feathers|drive a car"),
    "dogs": ("bark|run|swim|bite|have four legs|have a tail|have fur|smell well|eat meat", "fly|read|write|talk|lay eggs|drive|cook|have wings|count money|climb ladders|live under water|speak French"),
    "cats": ("climb|jump|purr|catch mice|have four legs|have a tail|have whiskers|see in the dark|have fur", "fly|read|bark|lay eggs|talk|drive|cook|have wings|speak"),
    "cows": ("give milk|eat grass|moo|have four legs|have a tail|live on a farm|have horns", "fly|lay eggs|read|climb trees|bark|have wings|eat meat|drive|talk"),
    "hens": ("lay eggs|have wings|cluck|have feathers|have two legs|eat grain", "give milk|bark|read|swim well|have four legs|have fur|drive"),
    "horses": ("run|jump|eat grass|have four legs|carry people|neigh|have a mane", "fly|read|lay eggs|climb trees|bark|talk|have wings|drive"),
    "snakes": ("crawl|bite|swim|lay eggs|have scales|hiss", "walk|fly|bark|have legs|have ears|sing|read|have fur"),
    "frogs": ("jump|swim|croak|lay eggs|eat flies|have four legs", "fly|bark|have fur|give milk|read|have wings|sing songs"),
    "bees": ("fly|make honey|sting|have wings|have six legs|live in a hive", "bark|swim|read|give milk|have fur like dogs|talk|sing songs"),
    "penguins": ("swim|dive|lay eggs|walk|have wings|have feathers|live in the cold|eat fish", "fly|bark|read|climb trees|live in the desert|give milk"),
    "elephants": ("walk|swim|trumpet|have a trunk|have big ears|eat leaves|have four legs|remember well", "fly|jump high|read|lay eggs|climb trees|live in a house|bark|have wings|live on the moon"),
    "monkeys": ("climb|jump|eat bananas|have a tail|live in trees", "fly|read|lay eggs|breathe under water|drive buses|have wings"),
    "whales": ("swim|dive|sing|live in the sea|breathe air", "fly|walk|lay eggs|climb|read|bark|live in trees|have legs"),
    "people": ("talk|read|write|sing|cook|laugh|cry|think|learn|drive cars|swim|dance|have two legs|have two eyes|need food|need sleep", "fly like birds|breathe under water|lay eggs|live without water|have wings|have a tail|live for ever|eat stones"),
    "babies": ("cry|sleep|drink milk|smile", "drive|read|write|cook|ride a bicycle|talk well|work"),
    "trees": ("grow|have leaves|have roots|have branches|give shade|need water|need light", "walk|talk|fly|read|swim|sing songs|have legs|sleep in a bed|eat bread"),
    "flowers": ("grow|smell good|have petals|need water|need light|bloom", "walk|talk|fly|bark|read|run|have legs|sing"),
    "stones": ("lie on the ground|sink in water|be heavy|roll", "swim|talk|eat|sleep|grow|think|fly|walk|sing|laugh|breathe|learn"),
    "tables": ("stand in a room|have four legs|be made of wood|carry plates", "walk|talk|eat|sleep|think|fly|swim|sing|laugh|grow|read"),
    "cars": ("drive|have wheels|have four wheels|have doors|carry people|need petrol or a battery|have an engine", "fly|swim|sleep|eat|think about life|laugh|cry|grow|lay eggs"),
    "bicycles": ("have two wheels|have pedals|have a bell|carry one person", "fly|swim|have an engine|have four wheels|talk|eat"),
    "planes": ("fly|have wings|carry people|land|have an engine", "swim|eat|sleep|talk|lay eggs|bark|have feathers"),
    "ships": ("float|carry people|cross the sea|have a captain", "fly|walk|climb hills|eat|talk|have wheels"),
    "books": ("have pages|have words|tell stories|be made of paper", "walk|talk|eat|sleep|fly|sing|swim"),
    "computers": ("count|store data|calculate|run programs|need electricity", "eat|sleep|love|smell|walk|cry|have children|lay eggs"),
    "shoes": ("protect the feet|have a sole|be made of leather", "walk alone|talk|eat|think|fly|sing"),
    "clouds": ("bring rain|float in the sky|be white|be grey", "talk|eat|read|walk|bark|sing|be made of stone"),
    "apples": ("grow on trees|be red|be green|be eaten|have seeds", "fly|talk|walk|swim in the sea like fish|sing|bark|read"),
    "teachers": ("teach|read|write|explain things|work in a school", "fly|lay eggs|breathe under water|have wings|live on the sun"),
    "spiders": ("spin webs|have eight legs|catch flies|climb walls", "fly|bark|give milk|have six legs|read|sing|talk"),
    "rabbits": ("jump|run|dig|have long ears|eat grass|have fur", "fly|lay eggs|bark|read|drive|have wings|eat stones|live in the sea"),
    "lions": ("roar|run|hunt|eat meat|have a mane", "fly|read|lay eggs|eat grass like cows|talk|live in the sea"),
    "ducks": ("swim|fly|quack|lay eggs|have feathers|have wings", "bark|give milk|read|have four legs|drive"),
}
STATE = ("have ", "live ", "be ", "need ", "eat ", "lie ", "grow on", "work in", "see in", "smell ")
SINGLE = dict(p.split("/") for p in "birds/a bird|fish/a fish|dogs/a dog|cats/a cat|cows/a cow|hens/a hen|horses/a horse|snakes/a snake|frogs/a frog|bees/a bee|penguins/a penguin|elephants/an elephant|monkeys/a monkey|whales/a whale|people/a person|babies/a baby|trees/a tree|flowers/a flower|stones/a stone|tables/a table|cars/a car|bicycles/a bicycle|planes/a plane|ships/a ship|books/a book|computers/a computer|shoes/a shoe|clouds/a cloud|apples/an apple|teachers/a teacher|spiders/a spider|rabbits/a rabbit|lions/a lion|ducks/a duck".split("|"))
KINDS = {"animals": "animal", "birds": "bird", "insects": "insect", "colours": "colour", "fruits": "fruit", "vegetables": "vegetable", "countries": "country", "jobs": "job", "planets": "planet", "months": "month", "days": "day of the week", "seasons": "season", "drinks": "drink", "sports": "sport",
         "instruments": "musical instrument", "body parts": "part of the body", "tools": "tool", "clothes": "piece of clothing", "vehicles": "vehicle", "trees": "tree", "flowers": "flower", "metals": "metal", "shapes": "shape", "languages": "language"}
COUNTLESS = {"colours", "countries", "planets", "months", "days", "seasons", "drinks", "sports", "metals", "languages", "vegetables"}
ABSURD = "on the moon|on the sun|inside a potato|in my pocket|in a teacup|at the bottom of the sea|in the clouds|on Mars|in a fridge|under my bed".split("|")
BODY = rows("""eye|in the face|see|two
ear|at the side of the head|hear|two
nose|in the middle of the face|smell and breathe|one
tongue|in the mouth|taste and speak|one
mouth|in the face|eat and speak|one
tooth|in the mouth|bite and chew|thirty-two
hand|at the end of the arm|hold and grip things|two
finger|on the hand|touch and feel things|ten
thumb|on the hand|grip things|two
arm|between the shoulder and the hand|lift and carry things|two
elbow|in the middle of the arm|bend the arm|two
shoulder|between the neck and the arm|move the arm|two
wrist|between the hand and the arm|turn the hand|two
leg|below the body|walk and run|two
knee|in the middle of the leg|bend the leg|two
ankle|between the foot and the leg|move the foot|two
foot|at the end of the leg|stand and walk|two
toe|on the foot|keep our balance|ten
neck|between the head and the body|turn the head|one
head|on top of the neck|think, see and hear|one
heart|in the chest|pump the blood through the body|one
brain|in the head|think and remember|one
stomach|in the belly|digest food|one
skin|all over the body|feel things and keep the body safe|one
bone|inside the body|hold up the body|206
muscle|under the skin|move the body|about 600
lung|in the chest|breathe|two
hair|on the head|keep the head warm|about 100,000
lip|around the mouth|speak and kiss|two
chin|below the mouth|move the mouth|one
throat|in the neck|swallow|one
kidney|in the back|clean the blood|two
liver|in the belly|clean the blood|one""")
MANY = {"tooth": "teeth", "foot": "feet", "hair": "hair", "skin": "skin", "body": "bodies"}
PRODUCTS = rows("""milk|cows, and also goats and sheep|cow
wool|sheep|sheep
eggs|hens, and also ducks and geese|hen
honey|bees|bee
silk|silkworms|silkworm
feathers|geese, ducks and other birds|goose
leather|cows|cow
pork|pigs|pig
beef|cows|cow
ham|pigs|pig
cheese|cows, goats and sheep, which give the milk|cow
wax|bees|bee
pearls|oysters|oyster
fruit|trees and bushes|tree
apples|apple trees|tree
potatoes|a plant, under the ground|plant
rice|a grass that grows in wet fields|plant
grapes|vines|vine
carrots|the ground: they are roots|plant
cocoa|the beans of the cocoa tree|tree""")
FEATURES = rows("""a trunk|elephant|an elephant has a trunk, which it uses like a hand
tusks|elephant|elephants have long tusks
a hump on its back|camel|a camel has one or two humps on its back
a very long neck|giraffe|the giraffe has a very long neck
black and white stripes|zebra|the zebra has black and white stripes
a mane|lion|the male lion has a mane
a pouch for its young|kangaroo|the kangaroo carries its young in a pouch
antlers|deer|deer have antlers
a shell on its back|turtle|the turtle has a shell
a house on its back|snail|the snail carries its house on its back
spines|hedgehog|the hedgehog has spines
eight arms|octopus|the octopus has eight arms
eight legs|spider|the spider has eight legs
a horn on its nose|rhino|the rhino has a horn on its nose
a bushy tail|squirrel|the squirrel has a bushy tail
long ears|rabbit|the rabbit has long ears
a beautiful big tail|peacock|the peacock has a beautiful tail
red wings with black dots|ladybird|the ladybird has red wings with black dots
a flat tail|beaver|the beaver has a flat tail
fins|fish|fish have fins
feathers|bird|birds have feathers
scales|fish|fish and snakes have scales
orange fur with stripes|tiger|the tiger has orange fur with stripes
no legs at all|snake|the snake has no legs
pink feathers|flamingo|the flamingo has pink feathers
whiskers|cat|cats have whiskers
a sting|bee|the bee has a sting
claws|cat|cats have claws""")
DOES = rows("""barks|dog|the dog barks
says meow|cat|the cat says meow
says moo|cow|the cow says moo
says woof|dog|the dog says woof
says quack|duck|the duck says quack
says oink|pig|the pig says oink
says baa|sheep|the sheep says baa
roars|lion|the lion roars
howls at the moon|wolf|the wolf howls at the moon
hoots at night|owl|the owl hoots at night
croaks|frog|the frog croaks
buzzes|bee|the bee buzzes
neighs|horse|the horse neighs
hisses|snake|the snake hisses
crows in the morning|cock|the cock crows in the morning
builds dams|beaver|the beaver builds dams
spins webs|spider|the spider spins webs
can repeat words|parrot|the parrot can repeat words
sleeps through the winter|bear|the bear sleeps through the winter
eats bamboo|panda|the panda eats bamboo
lives in a hive|bee|bees live in a hive
lives in a kennel|dog|a dog may live in a kennel
lives in a stable|horse|horses live in a stable
lives in a web|spider|the spider lives in a web
gives us milk|cow|the cow gives us milk
gives wool|sheep|the sheep gives wool
lays eggs|hen|the hen lays eggs
makes honey|bee|the bee makes honey
catches mice|cat|the cat catches mice
is the king of the animals|lion|the lion is called the king of the animals
is the fastest on land|cheetah|the cheetah is the fastest on land
is the biggest of all|whale|the blue whale is the biggest
is the biggest on land|elephant|the elephant is the biggest on land
is the tallest|giraffe|the giraffe is the tallest
is the slowest|snail|the snail is one of the slowest
is our best friend|dog|the dog is called our best friend
hops and has big feet|kangaroo|the kangaroo hops
hangs upside down|bat|the bat hangs upside down
swims and is very clever|dolphin|the dolphin is very clever
walks sideways|crab|the crab walks sideways
cannot fly but swims well|penguin|the penguin swims well but cannot fly
turns into a butterfly|caterpillar|the caterpillar turns into a butterfly
becomes a frog|tadpole|the tadpole becomes a frog""")
NEEDS = rows("""bake a cake|flour, sugar, eggs and butter
bake bread|flour, water, salt and yeast
make an omelette|eggs and a little butter
make pancakes|flour, eggs and milk
make a sandwich|bread, butter and some cheese
make a salad|lettuce, tomatoes, cucumber and some oil
make soup|vegetables, water and salt
make tea|hot water and tea leaves
make coffee|ground coffee and hot water
cook pasta|pasta, water and salt
make a pizza|dough, tomatoes and cheese
make a fruit salad|apples, bananas and other fruit
make lemonade|lemons, sugar and water
write a letter|paper and a pen
draw a picture|paper and a pencil
paint a wall|paint and a brush
hang up a picture|a hammer and a nail
cut paper|scissors
open a door|a key
light a candle|a match
light a fire|dry wood and a match
sweep the floor|a broom
wash my hands|water and soap
wash the dishes|water, soap and a sponge
brush my teeth|a toothbrush and toothpaste
comb my hair|a comb
dry my hair|a towel
sew on a button|a needle and thread
knit a scarf|wool and needles
build a snowman|snow and a carrot
fly a kite|a kite and some wind
go fishing|a fishing rod
go camping|a tent and a sleeping bag
go swimming|a swimsuit and a towel
go skiing|skis and warm clothes
go to the beach|a towel, sun cream and water
travel abroad|a passport
play football|a ball and two goals
play tennis|a racket and a ball
play chess|a board and 32 pieces
plant a tree|a young tree, a spade and water
grow flowers|seeds, soil and water
water the garden|a watering can
mend a bicycle tyre|glue and a patch
measure a table|a ruler or a tape measure
tell the time|a clock or a watch
find the way|a map or a compass
see in the dark|a lamp or a torch
see far away stars|a telescope
look at tiny things|a microscope
measure the temperature|a thermometer
stay dry in the rain|an umbrella or a raincoat
keep warm in winter|a warm coat, a hat and gloves
climb on the roof|a ladder
cut bread|a knife
eat soup|a spoon
take a photo|a camera
listen to music|a radio or a player
wake up in time|an alarm clock
pay in a shop|money
post a letter|an envelope and a stamp""")
MEALS = rows("""for breakfast|bread with jam, porridge, an egg or some fruit
for lunch|a sandwich, a soup or a salad
for dinner|pasta with tomatoes, or rice with vegetables
for dessert|ice cream, cake or fruit
in the morning|bread with butter, porridge or fruit
on a picnic|sandwiches, fruit and a bottle of water
when I am ill|soup, tea and toast
on a hot day|cold water, fruit and ice cream
at a birthday party|cake, fruit and lemonade
as a snack|an apple, a banana or some nuts
in a soup|carrots, potatoes, onions and other vegetables
in a salad|lettuce, tomatoes, cucumber and onions
on a pizza|tomatoes, cheese and mushrooms
on bread|butter, jam, cheese or honey
in a sandwich|cheese, ham, tomato or lettuce
with rice|vegetables, beans or chicken
with pasta|tomato sauce and cheese
in my tea|milk, sugar, honey or lemon
in a cake|flour, sugar, eggs, butter and perhaps apples""")
TASTE = dict(p.split("/") for p in "sugar/sweet honey/sweet chocolate/sweet cake/sweet ice cream/sweet jam/sweet lemons/sour vinegar/sour limes/sour grapefruit/bitter coffee/bitter beer/bitter salt/salty crisps/salty seawater/salty chillies/hot mustard/hot pepper/hot bananas/sweet cherries/sweet apples/sweet grapes/sweet olives/salty".replace("ice cream", "ice_cream").split())
HELPERS = rows("""dentist|my tooth hurts|looks after our teeth|a drill and a mirror
doctor|I am ill|helps sick people|a stethoscope
nurse|I lie in hospital|cares for sick people|bandages and medicine
vet|my dog is ill|treats sick animals|medicine for animals
plumber|water drips from the pipe|repairs pipes and taps|pipes and a wrench
electrician|the lights do not work|repairs lamps and wires|wires and a screwdriver
mechanic|my car does not start|repairs cars|a wrench and other tools
hairdresser|my hair is too long|cuts and washes hair|scissors and a comb
firefighter|a house is burning|puts out fires|water, hoses and ladders
police officer|somebody stole my bag|catches thieves|a car with a blue light
postman|I wait for a letter|brings letters and parcels|a bag and a bicycle
teacher|I want to learn to read|teaches children|books and a blackboard
baker|I need fresh bread|bakes bread and rolls|flour and an oven
butcher|I want to buy meat|sells meat and sausages|sharp knives
farmer|we need potatoes and milk|grows our food|a tractor
gardener|my roses look sad|takes care of gardens|a spade and a watering can
carpenter|I need a new table|makes tables and chairs|wood, a saw and a hammer
painter|my walls need a new colour|paints walls or pictures|paint and brushes
tailor|my trousers are too long|makes and mends clothes|a needle and thread
shoemaker|my shoes have a hole|mends shoes|leather and glue
pilot|I want to fly to another country|flies planes|a plane
bus driver|I take the bus to work|drives a bus|a bus
taxi driver|I need a ride to the station|drives people around the town|a car
captain|the ship needs a leader|leads a ship|maps and a compass
sailor|we cross the sea|works on a ship|ropes and sails
cook|we are hungry in the restaurant|prepares meals|pots, pans and knives
waiter|I want to order my meal|brings the food in a restaurant|a tray
librarian|I look for a book|takes care of books|shelves full of books
judge|two people have a quarrel in court|decides in court|the law
lawyer|I need help with a contract|knows the law|books of law
musician|we want to dance|plays music|an instrument
singer|we want to hear songs|sings songs|the voice
actor|we want to see a play|plays roles|a stage
writer|we want to read a new story|writes books|pen and paper
photographer|we want a picture of the family|takes photos|a camera
builder|we want a new house|builds houses|bricks and mortar
architect|we need a plan for a house|plans houses|pencils and a computer
cleaner|the office is dirty|keeps rooms clean|a mop and a bucket
fisherman|we want fresh fish|catches fish|nets and a boat
hunter|there are too many wild boars|hunts animals|a gun
shepherd|the sheep are alone|looks after sheep|a dog and a stick
miner|we need coal|digs coal out of the earth|a lamp and a pick
blacksmith|the horse needs new shoes|shapes hot iron|a hammer and a fire
optician|I cannot see well|makes glasses|lenses
clockmaker|my watch has stopped|mends clocks|tiny tools
astronaut|we want to know more about space|travels into space|a rocket
scientist|we want to find out something new|studies nature|instruments
programmer|the program has a bug|writes programs|a computer
detective|we need to solve a crime|solves crimes|a magnifying glass
magician|we want to see tricks|does magic tricks|cards and a hat
florist|I want to give her flowers|sells flowers|flowers and ribbons
cashier|I want to pay in the shop|takes the money in a shop|a till""")
ISA = rows("""the sun|star
a sunflower|flower
the moon|satellite
the Earth|planet
Mars|planet
Pluto|dwarf planet
a whale|mammal
a dolphin|mammal
a bat|mammal
a penguin|bird
an ostrich|bird
a hen|bird
a shark|fish
a frog|amphibian
a snake|reptile
a turtle|reptile
a crocodile|reptile
a spider|arachnid
a bee|insect
an ant|insect
a snail|mollusc
a tomato|fruit
a cucumber|fruit
a pumpkin|fruit
a potato|vegetable
a carrot|vegetable
an onion|vegetable
a mushroom|fungus
cheese|food
water|liquid
ice|frozen water
steam|gas
air|mixture of gases
gold|metal
iron|metal
wood|material
Europe|continent
Africa|continent
Asia|continent
France|country
Japan|country
Paris|city
London|city
the Pacific|ocean
the Nile|river
the Danube|river
Mount Everest|mountain
the Sahara|desert
Monday|day
July|month
summer|season
red|colour
seven|number
English|language
chess|game
football|sport
a piano|musical instrument
a hammer|tool
a car|vehicle
a chair|piece of furniture
a rose|flower
an oak|tree
a poem|text
a computer|machine
a robot|machine
a circle|shape
a dentist|doctor for the teeth
a kitten|young cat
a puppy|young dog
a lamb|young sheep
a prince|son of a king""")
BECAUSE = {"fruit": "It grows from a flower and has seeds inside.", "vegetable": "People eat a part of the plant, such as the root or the leaves.", "bird": "It has feathers, wings and a beak.", "insect": "It has six legs.", "mammal": "It breathes air and feeds its young with milk.", "fish": "It lives in water and breathes with gills.", "reptile": "It has scales and lays eggs.",
           "amphibian": "It lives in water and on land.", "arachnid": "It has eight legs.", "star": "It is a huge hot ball of gas that gives its own light.", "planet": "It goes round the sun.", "satellite": "It goes round the Earth and not round the sun.", "metal": "It is hard, shiny and conducts electricity.", "tree": "It has a trunk, branches and leaves.", "flower": "It has petals and makes seeds.",
           "machine": "People built it to do work.", "tool": "People work with it.", "vehicle": "It carries people or things.", "musical instrument": "One can make music with it.", "colour": "One can see it with the eyes.", "month": "It is one of the twelve parts of a year.", "season": "It is one of the four parts of a year.", "country": "People live there under one government.", "continent": "It is one of the seven great lands of the Earth.",
           "animal": "It lives, moves and eats.", "drink": "One can drink it.", "sport": "One moves and plays by rules.", "piece of clothing": "One wears it.", "part of the body": "It belongs to our body.", "day of the week": "It is one of the seven days.", "language": "People speak it.", "job": "People earn money with it."}
ALIKE = [{"star", "planet", "satellite", "dwarf planet"}, {"mammal", "bird", "fish", "amphibian", "reptile", "insect", "arachnid", "mollusc"}, {"fruit", "vegetable", "fungus", "food"}, {"metal", "material", "liquid", "gas", "frozen water", "mixture of gases"}, {"continent", "country", "city", "ocean", "river", "mountain", "desert"}, {"day", "month", "season", "colour", "number", "language"}]
