"""Knowledge tables about the world: one line a thing, so they are easy to read and to extend."""


def table(text, *fields):
    rows = []
    for line in text.strip().splitlines():
        parts = [p.strip() for p in line.rsplit("|", len(fields) - 1)]  # the first field may hold bars itself
        assert len(parts) == len(fields), line
        rows.append(dict(zip(fields, parts)))
    return rows


# country | capital | continent | language
COUNTRIES = table("""
France|Paris|Europe|French
Germany|Berlin|Europe|German
Italy|Rome|Europe|Italian
Spain|Madrid|Europe|Spanish
Portugal|Lisbon|Europe|Portuguese
England|London|Europe|English
Scotland|Edinburgh|Europe|English
Wales|Cardiff|Europe|English and Welsh
Ireland|Dublin|Europe|English and Irish
the United Kingdom|London|Europe|English
the Netherlands|Amsterdam|Europe|Dutch
Belgium|Brussels|Europe|Dutch, French and German
Luxembourg|Luxembourg City|Europe|Luxembourgish, French and German
Switzerland|Bern|Europe|German, French, Italian and Romansh
Austria|Vienna|Europe|German
Denmark|Copenhagen|Europe|Danish
Sweden|Stockholm|Europe|Swedish
Norway|Oslo|Europe|Norwegian
Finland|Helsinki|Europe|Finnish and Swedish
Iceland|Reykjavik|Europe|Icelandic
Poland|Warsaw|Europe|Polish
the Czech Republic|Prague|Europe|Czech
Slovakia|Bratislava|Europe|Slovak
Hungary|Budapest|Europe|Hungarian
Romania|Bucharest|Europe|Romanian
Bulgaria|Sofia|Europe|Bulgarian
Greece|Athens|Europe|Greek
Croatia|Zagreb|Europe|Croatian
Serbia|Belgrade|Europe|Serbian
Slovenia|Ljubljana|Europe|Slovene
Albania|Tirana|Europe|Albanian
Estonia|Tallinn|Europe|Estonian
Latvia|Riga|Europe|Latvian
Lithuania|Vilnius|Europe|Lithuanian
Ukraine|Kyiv|Europe|Ukrainian
Russia|Moscow|Europe and Asia|Russian
Turkey|Ankara|Asia and Europe|Turkish
Malta|Valletta|Europe|Maltese and English
Cyprus|Nicosia|Europe|Greek and Turkish
China|Beijing|Asia|Chinese
Japan|Tokyo|Asia|Japanese
South Korea|Seoul|Asia|Korean
North Korea|Pyongyang|Asia|Korean
India|New Delhi|Asia|Hindi and English
Pakistan|Islamabad|Asia|Urdu and English
Bangladesh|Dhaka|Asia|Bengali
Nepal|Kathmandu|Asia|Nepali
Sri Lanka|Colombo|Asia|Sinhala and Tamil
Thailand|Bangkok|Asia|Thai
Vietnam|Hanoi|Asia|Vietnamese
Cambodia|Phnom Penh|Asia|Khmer
Malaysia|Kuala Lumpur|Asia|Malay
Singapore|Singapore|Asia|English, Malay, Chinese and Tamil
Indonesia|Jakarta|Asia|Indonesian
the Philippines|Manila|Asia|Filipino and English
Mongolia|Ulaanbaatar|Asia|Mongolian
Kazakhstan|Astana|Asia|Kazakh and Russian
Iran|Tehran|Asia|Persian
Iraq|Baghdad|Asia|Arabic and Kurdish
Israel|Jerusalem|Asia|Hebrew
Jordan|Amman|Asia|Arabic
Lebanon|Beirut|Asia|Arabic
Saudi Arabia|Riyadh|Asia|Arabic
Qatar|Doha|Asia|Arabic
Egypt|Cairo|Africa|Arabic
Morocco|Rabat|Africa|Arabic and Berber
Algeria|Algiers|Africa|Arabic and Berber
Tunisia|Tunis|Africa|Arabic
Libya|Tripoli|Africa|Arabic
Sudan|Khartoum|Africa|Arabic and English
Ethiopia|Addis Ababa|Africa|Amharic
Kenya|Nairobi|Africa|Swahili and English
Tanzania|Dodoma|Africa|Swahili and English
Uganda|Kampala|Africa|English and Swahili
Rwanda|Kigali|Africa|Kinyarwanda, French and English
Nigeria|Abuja|Africa|English
Ghana|Accra|Africa|English
Senegal|Dakar|Africa|French
Cameroon|Yaounde|Africa|French and English
Angola|Luanda|Africa|Portuguese
Mozambique|Maputo|Africa|Portuguese
Zambia|Lusaka|Africa|English
Zimbabwe|Harare|Africa|English, Shona and Ndebele
Namibia|Windhoek|Africa|English
Madagascar|Antananarivo|Africa|Malagasy and French
the United States|Washington, D.C.|North America|English
Canada|Ottawa|North America|English and French
Mexico|Mexico City|North America|Spanish
Cuba|Havana|North America|Spanish
Jamaica|Kingston|North America|English
Guatemala|Guatemala City|North America|Spanish
Costa Rica|San Jose|North America|Spanish
Panama|Panama City|North America|Spanish
Brazil|Brasilia|South America|Portuguese
Argentina|Buenos Aires|South America|Spanish
Chile|Santiago|South America|Spanish
Peru|Lima|South America|Spanish
Colombia|Bogota|South America|Spanish
Venezuela|Caracas|South America|Spanish
Ecuador|Quito|South America|Spanish
Bolivia|Sucre|South America|Spanish
Paraguay|Asuncion|South America|Spanish and Guarani
Uruguay|Montevideo|South America|Spanish
Australia|Canberra|Oceania|English
New Zealand|Wellington|Oceania|English and Maori
Fiji|Suva|Oceania|English and Fijian
""", "name", "capital", "continent", "language")

# animal | plural | kind | legs | sound verb | home | food | young | colour | known for
ANIMALS = table("""
dog|dogs|mammal|4|barks|a house or a kennel|meat and dog food|puppy|brown, black or white|being a loyal friend
cat|cats|mammal|4|meows|a house|fish and meat|kitten|black, white, grey or orange|sleeping a lot and catching mice
cow|cows|mammal|4|moos|a farm|grass|calf|brown, or black and white|giving milk
horse|horses|mammal|4|neighs|a stable|grass and hay|foal|brown, black or white|running fast
pig|pigs|mammal|4|oinks|a farm|nearly everything|piglet|pink|being clever and rolling in mud
sheep|sheep|mammal|4|bleats|a meadow|grass|lamb|white|giving wool
goat|goats|mammal|4|bleats|a farm or the mountains|grass and leaves|kid|white, brown or black|climbing on steep rocks
donkey|donkeys|mammal|4|brays|a farm|grass and hay|foal|grey|carrying heavy loads
rabbit|rabbits|mammal|4|is quiet|a burrow|grass and carrots|bunny|brown, grey or white|its long ears and its jumps
mouse|mice|mammal|4|squeaks|a small hole|seeds and cheese|pup|grey or brown|being small and quick
rat|rats|mammal|4|squeaks|holes and cellars|nearly everything|pup|brown or grey|being clever
lion|lions|mammal|4|roars|the savanna|meat|cub|golden|being called the king of the animals
tiger|tigers|mammal|4|roars|the jungle|meat|cub|orange with black stripes|being the largest of the big cats
leopard|leopards|mammal|4|growls|forests and savannas|meat|cub|yellow with dark spots|climbing trees
cheetah|cheetahs|mammal|4|chirps|the savanna|meat|cub|yellow with black spots|being the fastest animal on land
elephant|elephants|mammal|4|trumpets|the savanna and forests|grass, leaves and fruit|calf|grey|its trunk and its good memory
giraffe|giraffes|mammal|4|hums|the savanna|leaves|calf|yellow with brown spots|its very long neck
zebra|zebras|mammal|4|barks|the savanna|grass|foal|black and white|its stripes
hippo|hippos|mammal|4|grunts|rivers and lakes|grass|calf|grey|its huge mouth
rhino|rhinos|mammal|4|snorts|the savanna|grass and leaves|calf|grey|the horn on its nose
monkey|monkeys|mammal|4|chatters|trees|fruit and leaves|infant|brown|climbing and playing
gorilla|gorillas|mammal|4|grunts|the rain forest|leaves and fruit|infant|black|being very strong and gentle
bear|bears|mammal|4|growls|the forest|berries, honey and fish|cub|brown or black|sleeping through the winter
polar bear|polar bears|mammal|4|growls|the Arctic|seals|cub|white|living on the ice
panda|pandas|mammal|4|bleats|bamboo forests in China|bamboo|cub|black and white|eating bamboo all day
wolf|wolves|mammal|4|howls|the forest|meat|pup|grey|living in packs
fox|foxes|mammal|4|barks|the forest|mice and berries|kit|red|being sly
deer|deer|mammal|4|is mostly quiet|the forest|grass and leaves|fawn|brown|its antlers
squirrel|squirrels|mammal|4|chatters|trees|nuts and seeds|kit|red or grey|storing nuts for the winter
hedgehog|hedgehogs|mammal|4|snuffles|gardens|insects and worms|hoglet|brown|its spines
kangaroo|kangaroos|mammal|2|grunts|Australia|grass|joey|brown or grey|jumping and carrying its young in a pouch
koala|koalas|mammal|4|grunts|eucalyptus trees in Australia|eucalyptus leaves|joey|grey|sleeping most of the day
camel|camels|mammal|4|grunts|the desert|dry plants|calf|light brown|its humps and going long without water
bat|bats|mammal|2|squeaks|caves|insects or fruit|pup|brown or black|being the only mammal that can really fly
whale|whales|mammal|0|sings|the ocean|krill and fish|calf|blue-grey|being the largest animal on Earth
dolphin|dolphins|mammal|0|clicks and whistles|the ocean|fish|calf|grey|being clever and playful
seal|seals|mammal|0|barks|cold coasts|fish|pup|grey|swimming very well
beaver|beavers|mammal|4|slaps its tail|rivers|bark and leaves|kit|brown|building dams
chicken|chickens|bird|2|clucks|a farm|grain and seeds|chick|white or brown|laying eggs
duck|ducks|bird|2|quacks|ponds|plants and insects|duckling|brown, white or green|swimming on ponds
goose|geese|bird|2|honks|ponds and meadows|grass|gosling|grey or white|flying in the shape of a V
owl|owls|bird|2|hoots|trees|mice|owlet|brown or white|seeing well at night
eagle|eagles|bird|2|screams|mountains|fish and small animals|eaglet|brown and white|its sharp eyes
penguin|penguins|bird|2|honks|the Antarctic|fish|chick|black and white|swimming well but not flying
parrot|parrots|bird|2|squawks|the rain forest|seeds and fruit|chick|green, red or blue|copying what people say
crow|crows|bird|2|caws|woods and towns|nearly everything|chick|black|being a very clever bird
swan|swans|bird|2|trumpets|lakes|water plants|cygnet|white|its long neck
pigeon|pigeons|bird|2|coos|towns|seeds and crumbs|squab|grey|finding its way home
robin|robins|bird|2|sings|gardens|worms and insects|chick|brown with a red breast|its red breast
sparrow|sparrows|bird|2|chirps|gardens and towns|seeds and insects|chick|brown|being small and lively
flamingo|flamingos|bird|2|honks|shallow lakes|shrimps|chick|pink|standing on one leg
ostrich|ostriches|bird|2|booms|the savanna|plants|chick|black and white|being the largest bird
peacock|peacocks|bird|2|screams|parks and forests|seeds and insects|chick|blue and green|its beautiful tail
snake|snakes|reptile|0|hisses|grass, forests and deserts|mice and eggs|snakelet|green or brown|moving without legs
crocodile|crocodiles|reptile|4|growls|rivers|fish and meat|hatchling|green|its strong jaws
lizard|lizards|reptile|4|is quiet|warm, dry places|insects|hatchling|green or brown|losing its tail and growing it again
turtle|turtles|reptile|4|is quiet|the sea and ponds|plants and small animals|hatchling|green|its shell
tortoise|tortoises|reptile|4|is quiet|dry land|grass and leaves|hatchling|brown|being slow and living very long
frog|frogs|amphibian|4|croaks|ponds|insects|tadpole|green|jumping
toad|toads|amphibian|4|croaks|gardens and ponds|insects|tadpole|brown|its bumpy skin
goldfish|goldfish|fish|0|is quiet|ponds and fish tanks|fish food|fry|orange|living in bowls and ponds
shark|sharks|fish|0|is quiet|the ocean|fish and seals|pup|grey|its many sharp teeth
salmon|salmon|fish|0|is quiet|rivers and the sea|small fish and insects|fry|silver|swimming up rivers
octopus|octopuses|sea animal without bones|8 arms and no|is quiet|the ocean|crabs and fish|hatchling|red or brown|its eight arms and its cleverness
crab|crabs|crustacean|10|clicks|beaches and the sea|nearly everything|larva|red or brown|walking sideways
bee|bees|insect|6|buzzes|a hive|nectar and pollen|larva|yellow and black|making honey
ant|ants|insect|6|is quiet|an ant hill|seeds and small insects|larva|black or red|working together
butterfly|butterflies|insect|6|is quiet|meadows and gardens|nectar|caterpillar|many bright colours|its colourful wings
fly|flies|insect|6|buzzes|nearly everywhere|food and waste|maggot|black|buzzing around
mosquito|mosquitoes|insect|6|hums|wet places|nectar and blood|larva|grey|its itchy bites
ladybird|ladybirds|insect|6|is quiet|gardens|small insects|larva|red with black spots|its spots
grasshopper|grasshoppers|insect|6|chirps|meadows|grass|nymph|green|jumping far
spider|spiders|arachnid|8|is quiet|webs|insects|spiderling|brown or black|spinning webs
snail|snails|mollusc|0|is quiet|gardens|leaves|hatchling|brown|carrying its house on its back
worm|worms|worm|0|is quiet|the soil|dead leaves|wormlet|pink or brown|making the soil good
""", "name", "plural", "kind", "legs", "sound", "home", "food", "young", "colour", "known")
FLY = "owl eagle parrot crow swan pigeon robin sparrow flamingo duck goose bee butterfly fly mosquito ladybird bat".split()
SWIM = "whale dolphin seal goldfish shark salmon octopus penguin duck goose swan frog turtle crocodile hippo beaver crab polar bear".split()
SIZES = ("ant|ladybird|bee|butterfly|mouse|sparrow|frog|hedgehog|squirrel|rabbit|cat|fox|dog|sheep|wolf|lion|horse|cow|rhino|hippo|"
         "giraffe|elephant|whale").split("|")
FAST = "snail|tortoise|mouse|duck|human|rabbit|dog|horse|lion|cheetah".split("|")

# planet | place from the sun | what it is like
PLANETS = table("""
Mercury|first|the smallest planet and the closest to the sun
Venus|second|the hottest planet, wrapped in thick clouds
Earth|third|our home, the only planet known to have life
Mars|fourth|the red planet, cold and dusty
Jupiter|fifth|the largest planet, with a great red spot
Saturn|sixth|famous for its bright rings
Uranus|seventh|a cold planet that lies on its side
Neptune|eighth|a blue, windy planet, the farthest from the sun
""", "name", "place", "about")

MONTHS = "January February March April May June July August September October November December".split()
MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
SEASONS = ["spring", "summer", "autumn", "winter"]
SEASON_ABOUT = {"spring": "the days grow longer, the snow melts and the flowers bloom", "summer": "it is warm, the days are long and many people go on holiday",
                "autumn": "the leaves turn yellow and red and fall from the trees", "winter": "it is cold, the days are short and it may snow"}
CONTINENTS = ["Africa", "Antarctica", "Asia", "Europe", "North America", "Oceania", "South America"]
OCEANS = ["the Pacific", "the Atlantic", "the Indian Ocean", "the Southern Ocean", "the Arctic Ocean"]
COLOURS = "red blue green yellow orange purple pink brown black white grey turquoise gold silver violet".split()
MIXES = {("red", "yellow"): "orange", ("blue", "yellow"): "green", ("red", "blue"): "purple", ("red", "white"): "pink", ("black", "white"): "grey",
         ("blue", "white"): "light blue", ("red", "green"): "brown"}
# thing | colour
COLOURED = table("""
the sky|blue
grass|green
snow|white
the sun|yellow
a banana|yellow
a lemon|yellow
a tomato|red
blood|red
a strawberry|red
a carrot|orange
an orange|orange
a pumpkin|orange
coal|black
the night|black
milk|white
chocolate|brown
a tree trunk|brown
a leaf|green
a cucumber|green
a frog|green
an elephant|grey
a flamingo|pink
a plum|purple
the sea|blue
a cherry|red
a cloud|white
gold|yellow
a lime|green
an aubergine|purple
a fire engine|red
""", "name", "colour")

# food | kind | taste or look
FOODS = table("""
apple|fruit|sweet and crisp
banana|fruit|soft and sweet
orange|fruit|juicy and sweet
lemon|fruit|very sour
lime|fruit|sour and green
pear|fruit|sweet and juicy
peach|fruit|soft and juicy
plum|fruit|sweet and purple
cherry|fruit|small, red and sweet
strawberry|fruit|red and sweet
raspberry|fruit|small, soft and tart
blueberry|fruit|small, blue and sweet
grape|fruit|small and juicy
melon|fruit|big and full of water
pineapple|fruit|sweet and sour
mango|fruit|very sweet
kiwi|fruit|green inside and a little sour
coconut|fruit|hard outside and white inside
carrot|vegetable|orange and crunchy
potato|vegetable|soft when it is cooked
onion|vegetable|sharp, and it makes people cry
garlic|vegetable|strong in smell and taste
cabbage|vegetable|leafy and green or red
spinach|vegetable|dark green and healthy
broccoli|vegetable|like a tiny green tree
cucumber|vegetable|cool and watery
pumpkin|vegetable|big and orange
pea|vegetable|small, round and green
bean|vegetable|full of protein
lettuce|vegetable|crisp and green
bread|baked food|soft inside with a crust
cake|dessert|sweet and soft
ice cream|dessert|cold and sweet
chocolate|sweet|brown and sweet
honey|sweet|sticky and golden
cheese|dairy food|salty and made from milk
butter|dairy food|soft, yellow and made from milk
yogurt|dairy food|creamy and a little sour
milk|drink|white and full of calcium
tea|drink|warm and made from leaves
coffee|drink|bitter and made from roasted beans
juice|drink|sweet and made from fruit
water|drink|clear and good for you
rice|grain|white and soft when it is cooked
pasta|grain food|made from flour, in many shapes
soup|dish|warm and easy to eat with a spoon
pizza|dish|flat and round, with tomato and cheese
salad|dish|fresh and made from raw vegetables
sandwich|dish|two slices of bread with something in between
omelette|dish|made from beaten eggs
""", "name", "kind", "about")

WOMEN = """Anna Clara Emma Grace Ida Kate Mia Olivia Rosa Uma Wendy Yara Zoe Alice Carol Eve Gina Iris Lena Nina Ruth Sara Tina Ursula Vera Zara Bianca Elena
Fatima Hannah Julia Laura Maria Nadia Priya Sofia Aisha Chloe Dora Fiona Greta Ines Kira Marta Pia Rita Viola Bella Cora Ella Helen Jane Mary Linda
Susan Lisa Amy Sasha Mila Lily Ava Lucy Ruby Poppy Petra Monika Ingrid Astrid Marie Camille Giulia Chiara Anita Mei Ling Yuki Johanna Katharina Sophie
Eva Barbara Claire Diana Amelia Victoria Elizabeth Margaret Sandra Monica Nora Paula Rebecca Rachel Sabine Silvia Stella Teresa Valerie Vivian Joanna
Isabel Jasmine Karin Kristin Melissa Natalie Patricia Emily Sarah Anne Christine""".split()
MEN = """Ben David Felix Henry Jack Leo Noah Paul Quinn Sam Tom Victor Xavier Bob Dan Frank Hugo Jonas Karl Max Oscar Peter Will Yusuf Ahmed Carlos Diego
George Ivan Kofi Omar Raj Tariq Vlad Wei Bruno Erik Hassan Jorge Lucas Nico Otto Simon Theo Walter Amir Dylan Finn Gustav Isaac John James Robert
Michael Mark Steve Kevin Brian Daniel Thomas Chris Alex Jordan Taylor Morgan Robin Charlie Liam Ethan Mason Logan Archie Sebastian Martin Andreas
Stefan Lars Sven Pierre Antoine Marco Paolo Ravi Hiro Kenji Johannes Matthew Andrew Philip Patrick Ryan Jacob Joseph Samuel William Nathan Aaron Adam
Anton Arthur Edward Eric Felipe Fred Gabriel Harry Jan Javier Joe Jim Tim Ken Keith Louis Luis Manuel Matthias Nicholas Niklas Nils Oliver Pedro Rolf
Simone Tobias Wolfgang Abdul Ali Bilal Chen Dmitri Igor Jamal Kenta Mohammed Sanjay Sergei Viktor""".split()  # and names that fit anybody
NAMES = WOMEN + MEN
