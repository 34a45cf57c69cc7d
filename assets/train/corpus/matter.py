"""Tables of things: what they are made of, how they are, which is more, what is how many of what."""


def rows(text):
    return [[p.strip() for p in line.split("|")] for line in text.strip().splitlines()]


PLURAL = set("coins scissors bricks trousers shoes socks tyres clothes candles windows pots nails roads jeans gloves curtains cups plates bottles books tables chairs".split())
MADE = rows("""a window|glass
a bottle|glass or plastic
a mirror|glass
a glass|glass
a light bulb|glass and metal
a vase|glass or clay
coins|metal, such as copper and nickel
a key|metal
a car|metal, glass, plastic and rubber
a spoon|metal
a knife|metal
a needle|steel
a pot|metal
a bell|metal, mostly bronze
a ring|gold or silver
a bridge|steel, stone or wood
a ship|steel
a table|wood
a chair|wood
a door|wood
a cupboard|wood
a pencil|wood and graphite
a violin|wood
a fence|wood or metal
a floor|wood or stone
a book|paper
a newspaper|paper
an envelope|paper
a box|cardboard or wood
paper|wood
cardboard|paper
a house|bricks, stone or wood
a wall|bricks or stone
bricks|clay
a flowerpot|clay
a cup|porcelain or clay
a plate|porcelain
a road|stones and asphalt
concrete|cement, sand, stones and water
glass|sand that was melted
steel|iron and a little carbon
bronze|copper and tin
a sweater|wool
a scarf|wool
socks|wool or cotton
a shirt|cotton
jeans|cotton
a towel|cotton
a T-shirt|cotton
a bed sheet|cotton or linen
a shoe|leather
a belt|leather
gloves|leather or wool
a tyre|rubber
a balloon|rubber
rubber boots|rubber
a plastic bag|plastic, which is made from oil
a toothbrush|plastic
a pillow|cloth and feathers
a candle|wax
soap|fat or oil
a tent|cloth
a statue|stone or bronze
a snowman|snow
an igloo|snow
a rope|fibres
a basket|twigs
a nest|twigs and grass
bread|flour, water, salt and yeast
toast|bread
a cake|flour, sugar, eggs and butter
cheese|milk
butter|milk, or rather its cream
yoghurt|milk
cream|milk
ice cream|milk, cream and sugar
chocolate|cocoa beans, sugar and milk
flour|wheat or other grain
pasta|flour, water and often eggs
pizza|dough, tomatoes and cheese
an omelette|eggs
wine|grapes
raisins|dried grapes
beer|barley, hops and water
cider|apples
apple juice|apples
orange juice|oranges
lemonade|lemons, water and sugar
jam|fruit and sugar
marmalade|oranges and sugar
chips|potatoes
crisps|potatoes
mashed potatoes|potatoes
ketchup|tomatoes
sugar|sugar beet or sugar cane
oil|olives or seeds
tea|the leaves of the tea plant
coffee|roasted coffee beans
porridge|oats and milk or water
pancakes|flour, eggs and milk
honey|nectar that bees collect
popcorn|corn
tofu|soya beans
a salad|leaves, tomatoes and other vegetables
soup|vegetables or meat and water
a sandwich|bread with something in it, such as cheese
ice|water
snow|frozen water
steam|water""")
USES = {"wood": "tables, chairs, doors, boats, paper and houses", "glass": "windows, bottles, mirrors and lamps", "metal": "knives, pots, keys, cars and tools", "paper": "books, letters, newspapers and bags",
        "wool": "sweaters, scarves, socks and blankets", "cotton": "shirts, towels, trousers and sheets", "leather": "shoes, belts, bags and gloves", "clay": "bricks, pots, cups and tiles", "stone": "houses, walls, roads and statues",
        "rubber": "tyres, balls, boots and erasers", "plastic": "bottles, toys, bags and boxes", "gold": "rings, coins and other jewellery", "silver": "rings, spoons and coins", "iron": "nails, tools, fences and machines", "steel": "bridges, ships, cars and knives",
        "wax": "candles", "milk": "cheese, butter, cream and yoghurt", "flour": "bread, cakes, pasta and biscuits", "eggs": "omelettes, cakes and pancakes", "apples": "juice, cake, sauce and cider", "potatoes": "chips, soup, salad and mash",
        "grapes": "wine, juice and raisins", "tomatoes": "sauce, soup, salad and ketchup", "sand": "glass, concrete and sandcastles", "snow": "a snowman, snowballs and an igloo", "wheat": "flour, and from it bread", "cocoa": "chocolate", "silk": "scarves, ties and fine dresses", "cloth": "clothes, bags and curtains", "fruit": "jam, juice and cakes"}
PAIRS = dict(p.split("/") for p in "hot/cold hard/soft big/small heavy/light fast/slow wet/dry sweet/sour loud/quiet bright/dark expensive/cheap rough/smooth sharp/blunt long/short high/low dangerous/safe healthy/unhealthy alive/lifeless thick/thin strong/weak deep/shallow round/square old/young wild/tame salty/sweet warm/cool sticky/clean".split())
PAIRS |= {b: a for a, b in PAIRS.items()}
PROPS = rows("""fire|hot bright dangerous
the sun|hot bright big round
a stone|hard heavy lifeless
an iron bar|hard heavy
iron|hard heavy
steel|hard strong heavy
a diamond|hard expensive bright
gold|heavy expensive
lead|heavy
glass|hard smooth
wood|hard
rubber|soft
wool|soft warm
cotton|soft
silk|soft smooth expensive
a pillow|soft light
a feather|light soft
butter|soft
bread|soft
a cushion|soft
a blanket|soft warm
sandpaper|rough
leather|strong
paper|thin light
a hair|thin
ice|cold hard smooth
snow|cold white
winter|cold
summer|hot
the desert|hot dry
the rainforest|wet warm
the North Pole|cold
an oven|hot
a fridge|cold
boiling water|hot wet dangerous
the sea|deep wet big
a puddle|shallow wet small
the ocean|deep big
a mountain|high big
rain|wet
sand|dry
a desert|dry hot
sugar|sweet
honey|sweet sticky
chocolate|sweet
a lemon|sour
vinegar|sour
salt|salty
sea water|salty wet
a cake|sweet
jam|sweet
an apple|round healthy
vegetables|healthy
smoking|unhealthy dangerous
sport|healthy
a ball|round
a wheel|round
the Earth|round big old
a coin|round small
a plate|round
an orange|round sweet
an elephant|big heavy strong
a whale|big heavy
an ant|small light
a mouse|small light quiet
a fly|small light
a cheetah|fast
a snail|slow small
a tortoise|slow old
a rocket|fast loud expensive
a plane|fast loud
a racing car|fast loud expensive
a train|fast long heavy
a bicycle|light
a lorry|heavy big loud
a ship|big heavy
thunder|loud
a drum|loud
a whisper|quiet
a library|quiet
a lion|wild dangerous strong
a tiger|wild dangerous strong
a shark|dangerous wild
a crocodile|dangerous
a bear|strong dangerous big
a kitten|small young soft
a baby|young small
a grandfather|old
a giant|big strong
a dwarf|small short
a giraffe|high big
a snake|long
a river|long wet
a knife|sharp
a needle|sharp thin small
a razor|sharp
a spoon|blunt
the night|dark
the day|bright
a cave|dark
a lamp|bright
a castle|big old
a palace|big expensive
a pearl|expensive round small
tea|hot
soup|hot
lava|hot dangerous
a freezer|cold
a sponge|soft light
concrete|hard heavy
a brick|hard heavy
a nut|hard small
a tower|high
a tree|high alive
a flower|alive
a dog|tame alive""")
RANKS = rows("""bigger larger|smaller|an ant,a bee,a mouse,a bird,a cat,a dog,a sheep,a cow,a car,an elephant,a house,a whale,a mountain,a country,the moon,the Earth,the sun
bigger larger|smaller|a grain of sand,a pea,a cherry,an egg,an apple,a melon,a chair,a table,a bed,a bus,a church,a lake,a sea,an ocean
bigger larger|smaller|a puddle,a pond,a lake,the sea,the ocean
bigger larger|smaller|a room,a flat,a house,a street,a village,a town,a city,a country,a continent,the world
heavier|lighter|a feather,a leaf,a pencil,an apple,a book,a brick,a chair,a dog,a person,a cow,a car,an elephant,a lorry,a train,a ship
heavier|lighter|a balloon,a coin,a cup,a shoe,a stone,a bicycle,a fridge,a piano,a horse,a bus,a house
faster quicker|slower|a snail,a tortoise,a worm,a duck,a child,a runner,a bicycle,a horse,a bus,a car,a train,a plane,a rocket,light
faster quicker|slower|a caterpillar,a crab,a hen,a rabbit,a dog,a lion,a cheetah
hotter warmer|colder cooler|ice,snow,cold water,a warm bath,tea,boiling water,fire,lava,the sun
hotter warmer|colder cooler|the moon by night,the North Pole,winter,autumn,summer,the desert,an oven
longer|shorter|a second,a minute,an hour,a day,a week,a month,a season,a year,a decade,a century
longer|shorter|an ant,a finger,a pencil,an arm,a bed,a car,a bus,a train,a river
longer|shorter|a millimetre,a centimetre,a metre,a kilometre,a mile
taller higher|shorter lower|grass,a flower,a child,a door,a giraffe,a house,a tree,a church,a tower,a hill,a mountain
more expensive|cheaper|an apple,a book,a pair of shoes,a bicycle,a computer,a car,a house,a castle
older|younger|a baby,a child,a teenager,a parent,a grandmother
louder|quieter|a whisper,a song,a drum,a car horn,a plane,thunder
sweeter|less sweet|salt,bread,milk,an apple,a cake,honey,sugar
harder|softer|butter,a sponge,an apple,wood,stone,iron,a diamond
stronger|weaker|a fly,a mouse,a cat,a dog,a man,a horse,a bear,an elephant
brighter|darker|a cave,the moon,a candle,a lamp,the sun
deeper|shallower|a puddle,a pond,a lake,the sea,the ocean
farther away|nearer|the neighbour's house,the next town,another country,the moon,the sun,the next galaxy""")
UNITS = rows("""a minute|60|seconds
an hour|60|minutes
half an hour|30|minutes
a quarter of an hour|15|minutes
a day|24|hours
a week|seven|days
a weekend|two|days
a fortnight|14|days
a year|twelve|months
a year|365|days
a year|52|weeks
a year|four|seasons
a leap year|366|days
a decade|ten|years
a century|100|years
a metre|100|centimetres
a centimetre|ten|millimetres
a kilometre|1000|metres
a kilogram|1000|grams
a litre|1000|millilitres
a dozen|twelve|things
a pair|two|things
the alphabet|26|letters
a triangle|three|sides
a square|four|sides
a square|four|corners
a cube|six|faces
a die|six|sides
a rainbow|seven|colours
the world|seven|continents
our solar system|eight|planets
a football team|eleven|players
a chessboard|64|squares
a piano|88|keys
a guitar|six|strings
a violin|four|strings
a car|four|wheels
a bicycle|two|wheels
a tricycle|three|wheels
a bus|four or more|wheels
a motorbike|two|wheels
a euro|100|cents
a dollar|100|cents
a hand|five|fingers
a table|four|legs
a chair|four|legs
an insect|six|legs
a bird|two|wings
a bird|two|legs
a dog|four|legs""")
BEST = [r.split("|", 2) for r in """planet|Jupiter|the {biggest|largest} {one |of all |in our solar system |}
planet|Mercury|the {smallest|tiniest} {one |of all |}
planet|Mercury|{closest to the sun|nearest to the sun|the one that is closest to the sun}
planet|Mercury|the fastest around the sun
planet|Neptune|{farthest|furthest|most distant} from the sun
planet|Venus|the hottest {one |of all |}
planet|Venus|the brightest in the {evening|night} sky
planet|Mars|{red|called the red planet|known as the red planet|full of red dust}
planet|Saturn|{famous for its rings|the one with rings|known for rings}
planet|Earth|{our home|the one we live on|home to people, plants and animals|the only one with life}
planet|Uranus|the one that lies on its side
planet|Jupiter|the one with a big red spot
continent|Asia|the {biggest|largest} {one |of all |}
continent|Oceania|the smallest
continent|Antarctica|the {coldest|iciest} {one |of all |}
continent|Antarctica|{full of ice and penguins|the one at the South Pole|the one where nobody lives for good}
continent|Africa|the hottest {one |of all |}
continent|Africa|home of {lions and elephants|giraffes and zebras|the Sahara}
continent|Oceania|home of kangaroos
continent|Asia|home of {pandas|most people}
season|summer|the {hottest|warmest} {one |of all |}
season|winter|the coldest {one |of all |}
season|winter|{when it snows|when people ski|when Christmas comes|the one with snow and ice}
season|autumn|{when leaves fall|when the leaves turn yellow and red|when the harvest is brought in}
season|spring|{when flowers begin to bloom|when the birds come back|when snow melts|when nature wakes up}
season|summer|{when people go to the beach|when days are longest|when children have long holidays}
month|February|the shortest {one |}
month|January|the first {one |of the year |}
month|December|the last {one |of the year |}
month|December|the one with Christmas
day|Monday|the first {one |of the week |}
day|Sunday|the last {one |of the week |}
ocean|the Pacific|the {biggest|largest|deepest} {one |of all |}
ocean|the Arctic Ocean|the smallest {one |}
country|Russia|the {largest|biggest} {one |in the world |}
country|Vatican City|the smallest {one |in the world |}
mountain|Mount Everest|the highest {one |in the world |of all |}
animal|the blue whale|the {biggest|largest|heaviest} {one |of all |}
animal|the cheetah|the fastest on land
animal|the giraffe|the tallest {one |of all |}""".splitlines()]
SEASONAL = rows("""spring|the birds build their nests|the first flowers come out|the snow melts|trees get new leaves|lambs are born|it gets warmer again|Easter is
summer|people swim in the sea|it is hottest|the days are longest|school is closed for weeks|strawberries are ripe|people eat most ice cream|we go to the beach
autumn|the leaves fall from the trees|apples are ripe|the days get shorter|it is often foggy|farmers bring in the harvest|birds fly south|pumpkins are ripe|leaves turn red
winter|it snows|the lakes freeze|people go skiing|the nights are longest|Christmas is|children build snowmen|bears sleep|it is coldest|trees have no leaves""")
