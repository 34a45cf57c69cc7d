"""Reasons and little facts: a question in several wordings, and its answer."""
from .world import table

# question | answer: reasons and little facts, several wordings of each question
WHYS = table("""
{Why is the sky blue|What makes the sky blue|How come the sky is blue}?|The air scatters blue light from the sun more than red light, so the sky looks blue.
{Why is the sea salty|Why is sea water salty|How come the ocean is salty}?|Rivers wash salt out of the rocks and carry it to the sea, where it stays when water evaporates.
{Why do leaves fall in autumn|Why do trees lose their leaves|Why do leaves change colour}?|In autumn there is less light, so trees stop making green colour and drop their leaves to save water in winter.
{Why does it rain|How does rain form|Where does rain come from}?|Water evaporates, rises and cools into clouds. When the drops grow too heavy, they fall as rain.
{Why does it snow|How is snow made|Where does snow come from}?|When it is very cold, water in the clouds freezes into small crystals that fall as snow.
{Why do we sleep|Why do people need sleep|Why do I need sleep}?|Sleep lets the body rest and the brain sort what it has learned.
{Why do we eat|Why do people need food|Why do we need food}?|Food gives the body energy and the material it needs to grow.
{Why do birds fly south|Why do birds migrate|Why do birds leave in winter}?|In winter there is little food in cold lands, so many birds fly to warmer places.
{Why do cats purr|What makes a cat purr}?|Cats mostly purr when they feel content, and sometimes to calm themselves.
{Why do dogs wag their tails|What does it mean when a dog wags its tail}?|A dog wags its tail to show its mood, and often that it is happy.
{Why is grass green|What makes grass green|Why are plants green}?|Plants hold a green substance called chlorophyll, which they use to make food from light.
{Why is the sun hot|What makes the sun shine|Why does the sun shine}?|Deep inside the sun, hydrogen turns into helium, and that gives off a great deal of heat and light.
{Why do we have seasons|What causes the seasons|Why are there seasons}?|The Earth's axis is tilted, so each half gets more sun in one part of the year and less in the other.
{Why is there day and night|What causes day and night|Why does it get dark at night}?|The Earth turns around itself once a day. Where the sun shines it is day, and on the other side it is night.
{Why does ice float|Why does ice float on water}?|Ice is lighter than the same volume of water, so it floats.
{Why do we yawn|What makes people yawn}?|Nobody is quite sure. People yawn when they are tired or bored, and it may help to cool the brain.
{Why do onions make us cry|Why do I cry when I cut onions}?|A cut onion gives off a gas that stings the eyes, and tears wash it away.
{Why do things fall down|Why does an apple fall|Why do we not float away}?|Gravity pulls everything toward the Earth.
{How do planes fly|How does an aeroplane stay in the air|Why can planes fly}?|The wings push air down as the plane moves fast, and the air pushes the plane up.
{How do fish breathe|How can fish breathe under water}?|Fish breathe with gills, which take oxygen out of the water.
{How do plants eat|How do plants make food|What is photosynthesis}?|Plants make sugar from light, water and air. That is called photosynthesis.
{How do bees make honey|Where does honey come from}?|Bees collect nectar from flowers, carry it to the hive and dry it until it becomes honey.
{How is bread made|How do you make bread|How do I bake bread}?|Mix flour, water, salt and yeast, knead the dough, let it rise, and bake it in a hot oven.
{How do you make tea|How do I make a cup of tea|How is tea made}?|Boil water, pour it over tea leaves or a tea bag, wait three to five minutes, and take the leaves out.
{How do I boil an egg|How do you cook an egg|How long do you boil an egg}?|Put the egg into boiling water: about six minutes for a soft egg and ten for a hard one.
{How is paper made|What is paper made from}?|Wood is ground and boiled into a pulp, spread out thin, pressed and dried: that makes paper.
{How is glass made|What is glass made of|What is glass made from}?|Glass is made by melting sand together with soda and lime.
{How is cheese made|What is cheese made of|What is cheese made from}?|Cheese is made from milk that is thickened, pressed and left to ripen.
{How does a rainbow form|How is a rainbow made|Where do rainbows come from}?|Sunlight enters drops of rain, is split into colours and is reflected to your eyes.
{How far away is the moon|How far is it to the moon}?|The moon is about 384,000 kilometres away.
{How far away is the sun|How far is the sun from the Earth}?|The sun is about 150 million kilometres away.
{How fast is light|What is the speed of light|How fast does light travel}?|Light travels about 300,000 kilometres in one second.
{How fast is sound|What is the speed of sound}?|In air, sound travels about 340 metres in a second.
{How old is the Earth|What is the age of the Earth}?|The Earth is about four and a half billion years old.
{How many people live on Earth|How many people are there in the world|What is the population of the world}?|About eight billion people live on Earth.
{How many countries are there|How many countries are in the world}?|There are about 195 countries.
{What is the highest mountain|What is the tallest mountain in the world|Which mountain is the highest}?|Mount Everest is the highest mountain above the sea.
{What is the longest river|Which river is the longest in the world}?|The Nile and the Amazon are the longest rivers; the Nile is usually named first.
{What is the largest ocean|What is the biggest ocean|Which ocean is the largest}?|The Pacific is the largest ocean.
{What is the largest country|What is the biggest country in the world}?|Russia is the largest country by area.
{What is the smallest country|Which country is the smallest in the world}?|Vatican City is the smallest country.
{What is the largest animal|What is the biggest animal in the world|Which animal is the biggest}?|The blue whale is the largest animal.
{What is the largest land animal|What is the biggest animal on land}?|The African elephant is the largest animal on land.
{What is the fastest animal|Which animal is the fastest|What is the fastest land animal}?|The cheetah is the fastest animal on land, and the peregrine falcon is the fastest in the air.
{What is the tallest animal|Which animal is the tallest}?|The giraffe is the tallest animal.
{At what temperature does water boil|What is the boiling point of water|When does water boil}?|Water boils at 100 degrees Celsius.
{At what temperature does water freeze|What is the freezing point of water|When does water freeze}?|Water freezes at 0 degrees Celsius.
{Is the Earth flat|Is the Earth round|What shape is the Earth}?|The Earth is round, like a ball that is a little flat at the poles.
{Is a tomato a fruit|Is a tomato a fruit or a vegetable}?|For a botanist a tomato is a fruit, and in the kitchen it is used as a vegetable.
{Is Pluto a planet|Why is Pluto not a planet}?|Pluto is called a dwarf planet today.
{Who was the first person on the moon|Who first walked on the moon|Who was the first man on the moon}?|Neil Armstrong was the first person to walk on the moon, in 1969.
{Who painted the Mona Lisa|Who is the painter of the Mona Lisa}?|Leonardo da Vinci painted the Mona Lisa.
{Who wrote Romeo and Juliet|Who is the author of Hamlet|Who wrote Hamlet}?|William Shakespeare wrote it.
{Who was Albert Einstein|Who is Einstein|Tell me about Einstein}?|Albert Einstein was a physicist who found the theory of relativity.
{Who was Isaac Newton|Who is Newton|Tell me about Newton}?|Isaac Newton was a scientist who described gravity and the laws of motion.
{Who was Ada Lovelace|Tell me about Ada Lovelace}?|Ada Lovelace wrote the first program for a computing machine, in the nineteenth century.
{Who was Alan Turing|Tell me about Alan Turing}?|Alan Turing was a mathematician who laid the ground for computer science.
{Who was Mozart|Tell me about Mozart}?|Mozart was a composer from Austria who wrote operas, symphonies and much other music.
{What is the meaning of life|What's the meaning of life}?|People have found many answers: love, friends, learning, helping others. Some say 42.
{Which came first, the chicken or the egg|What came first, the chicken or the egg}?|Eggs are much older than chickens, so the egg came first.
{What is the chemical formula of water|What is H2O|What is water made of}?|Water is H2O: two parts hydrogen and one part oxygen.
{What gas do we breathe|What do we breathe in}?|We breathe air and use the oxygen in it.
{How many hours are in a day|How many hours does a day have}?|A day has 24 hours.
{How many minutes are in an hour|How many minutes does an hour have}?|An hour has 60 minutes.
{How many seconds are in a minute|How many seconds does a minute have}?|A minute has 60 seconds.
{How many days are in a week|How many days does a week have}?|A week has seven days.
{How many days are in a year|How many days does a year have}?|A year has 365 days, and a leap year has 366.
{How many months are in a year|How many months does a year have}?|A year has twelve months.
{How many weeks are in a year|How many weeks does a year have}?|A year has 52 weeks and one day.
{How many letters are in the alphabet|How many letters does the English alphabet have}?|The English alphabet has 26 letters.
{How many planets are there|How many planets are in the solar system}?|There are eight planets.
{How many continents are there|How many continents does the Earth have}?|There are seven continents.
{How many colours are in a rainbow|What are the colours of the rainbow|Name the colours of the rainbow}?|The rainbow has seven colours: red, orange, yellow, green, blue, indigo and violet.
{How many strings does a guitar have|How many strings are on a guitar}?|A guitar usually has six strings.
{How many players are in a football team|How many people play in a football team}?|A football team has eleven players on the field.
{How many wheels does a car have|How many wheels are on a car}?|A car has four wheels.
{How many wheels does a bicycle have|How many wheels are on a bike}?|A bicycle has two wheels.
{How many sides does a triangle have|How many corners does a triangle have}?|A triangle has three.
{How many sides does a square have|How many corners does a square have}?|A square has four.
{How many sides does a hexagon have|What is a hexagon}?|A hexagon has six sides.
{What is the currency of Japan|What money do they use in Japan}?|The currency of Japan is the yen.
{What is the currency of the United States|What money do they use in America}?|The currency of the United States is the dollar.
{What is the currency of Germany|What money do they use in France|What is the currency in Europe}?|Many countries in Europe use the euro.
{What is the largest desert|What is the biggest desert|Which desert is the largest}?|The largest hot desert is the Sahara in Africa.
{What is the largest lake|What is the biggest lake}?|The Caspian Sea is the largest lake.
{What is the deepest ocean|Which ocean is the deepest}?|The Pacific is the deepest ocean.
{What is the largest island|What is the biggest island}?|Greenland is the largest island.
{What is the largest continent|What is the biggest continent|Which continent is the largest}?|Asia is the largest continent.
{What is the smallest continent|Which continent is the smallest}?|Australia, or Oceania, is the smallest continent.
{Which continent is the coldest|What is the coldest place on Earth}?|Antarctica is the coldest continent.
{Where do penguins live|Do penguins live at the North Pole}?|Penguins live in the south, most of them in the Antarctic, and not at the North Pole.
{Where do polar bears live|Do polar bears live at the South Pole}?|Polar bears live in the Arctic, in the far north.
{Where is the Eiffel Tower|In which city is the Eiffel Tower}?|The Eiffel Tower is in Paris.
{Where are the pyramids|In which country are the pyramids}?|The most famous pyramids are in Egypt.
{Where is Big Ben|In which city is Big Ben}?|Big Ben is in London.
{Where is the Statue of Liberty|In which city is the Statue of Liberty}?|The Statue of Liberty is in New York.
{Where is the Great Wall|In which country is the Great Wall}?|The Great Wall is in China.
{Where is the Colosseum|In which city is the Colosseum}?|The Colosseum is in Rome.
{Where do kangaroos live|In which country do kangaroos live|Which animals live in Australia}?|Kangaroos and koalas live in Australia.
{Where does the sun rise|In which direction does the sun rise}?|The sun rises in the east.
{Where does the sun set|In which direction does the sun set}?|The sun sets in the west.
{What do cows give us|What do cows give|What do we get from cows}?|Cows give us milk.
{What do sheep give us|What do we get from sheep}?|Sheep give us wool.
{What do hens lay|What do chickens lay|Where do eggs come from}?|Hens lay eggs.
{What do bees make|What do we get from bees}?|Bees make honey.
{What do spiders make|What do spiders spin}?|Spiders spin webs.
{What do caterpillars become|What does a caterpillar turn into}?|A caterpillar becomes a butterfly.
{What does a tadpole become|What do tadpoles turn into}?|A tadpole becomes a frog.
{What animal is the king of the animals|Which animal is called the king of the jungle}?|The lion is called the king of the animals.
{What animal has a trunk|Which animal has a trunk}?|The elephant has a trunk.
{What animal has a long neck|Which animal has a long neck}?|The giraffe has a long neck.
{What animal has black and white stripes|Which animal has stripes}?|The zebra has black and white stripes.
{What animal says moo|Which animal moos}?|The cow says moo.
{What animal says meow|Which animal meows}?|The cat says meow.
{What animal barks|Which animal says woof}?|The dog barks.
{What animal gives milk|Which animal gives us milk}?|The cow gives us milk.
{What is the national animal of Australia}?|It is the red kangaroo.
{What is ice made of|What is snow made of}?|It is frozen water.
{What are clouds made of|What is a cloud made of}?|Clouds are made of tiny drops of water or ice.
{What is steel made of|What is steel}?|Steel is made of iron with a little carbon.
{What is chocolate made of|What is chocolate made from|Where does chocolate come from}?|Chocolate is made from cocoa beans, sugar and cocoa butter.
{What is butter made of|What is butter made from}?|Butter is made from cream.
{What is wine made of|What is wine made from}?|Wine is made from grapes.
{What is paper used for|What do we use paper for}?|Paper is used for writing, printing and wrapping.
{What is the hardest material|What is the hardest stone}?|Diamond is the hardest natural material.
{What is the lightest gas|What is the lightest element}?|Hydrogen is the lightest.
{What is the symbol of gold|What is the chemical symbol for gold}?|The symbol of gold is Au.
{What is the symbol of oxygen|What is the chemical symbol for oxygen}?|The symbol of oxygen is O.
{What is the symbol of iron|What is the chemical symbol for iron}?|The symbol of iron is Fe.
{Which planet do we live on|What is our planet called}?|We live on Earth.
{What is the name of our galaxy|Which galaxy are we in}?|Our galaxy is called the Milky Way.
{What is the closest star|Which star is the closest to us}?|The sun is the closest star.
{Is the sun a star|Is the sun a planet}?|Yes, the sun is a star, not a planet.
{How long does the Earth take to go around the sun|How long is a year}?|The Earth goes around the sun in one year, about 365 days.
{How long does the moon take to go around the Earth|How long is a month}?|The moon goes around the Earth in about 27 days.
{How many bones does a person have|How many bones are in the body}?|An adult has 206 bones.
{How many teeth does a person have|How many teeth do I have}?|An adult has thirty-two teeth.
{How many fingers do I have|How many fingers are on a hand}?|A person has ten fingers, five on each hand.
{How many senses do we have|What are the five senses|Name the five senses}?|The five senses are sight, hearing, smell, taste and touch.
{What is the largest organ|What is the biggest organ of the body}?|The skin is the largest organ.
{How many legs does an insect have|How many legs do insects have}?|Insects have six legs.
{How many eyes does a spider have|How many eyes do spiders have}?|Most spiders have eight eyes.
{How many hearts does an octopus have}?|An octopus has three hearts.
{How many cents are in a dollar|How many cents are in a euro}?|One hundred.
{How many grams are in a kilogram|How many grams does a kilo have}?|A kilogram has 1000 grams.
{How many metres are in a kilometre|How many meters are in a kilometer}?|A kilometre has 1000 metres.
{How many centimetres are in a metre|How many centimeters are in a meter}?|A metre has 100 centimetres.
{How many years are in a century|How long is a century}?|A century is one hundred years.
{How many years are in a decade|How long is a decade}?|A decade is ten years.
{How many is a dozen|What is a dozen|How many eggs are in a dozen}?|A dozen is twelve.
{What is a pair|How many is a pair}?|A pair is two.
{When is Christmas|On which day is Christmas}?|Christmas is on the 25th of December.
{When is New Year|When does the year begin|What is the first day of the year}?|The year begins on the first of January.
{What is a leap year|How many days does a leap year have}?|A leap year has 366 days. It comes every four years, with a 29th of February.
{What is the first letter of the alphabet}?|A is the first letter.
{What is the last letter of the alphabet}?|Z is the last letter.
{What are the vowels|Which letters are vowels|Name the vowels}?|The vowels are A, E, I, O and U.
{What are the primary colours|Name the primary colours|What are the primary colors}?|The primary colours of paint are red, yellow and blue.
{What colour is a traffic light|What colours does a traffic light have}?|A traffic light is red, yellow and green.
{What does a red light mean|What does a red traffic light mean}?|It means stop.
{What does a green light mean|What does a green traffic light mean}?|It means go.
{Who wrote Harry Potter|Who is the author of Harry Potter}?|J. K. Rowling wrote Harry Potter.
{Who was Napoleon|Tell me about Napoleon}?|Napoleon was an emperor of France who fought many wars in Europe.
{Who was Cleopatra|Tell me about Cleopatra}?|Cleopatra was the last queen of ancient Egypt.
{Who was Columbus|Who was Christopher Columbus|Who discovered America}?|Christopher Columbus sailed from Spain to America in 1492.
{Who was Beethoven|Tell me about Beethoven}?|Beethoven was a German composer who wrote nine symphonies, some of them when he was deaf.
{Who was Marie Curie|Tell me about Marie Curie}?|Marie Curie was a scientist who studied radioactivity and won two Nobel Prizes.
{Who was Charles Darwin|Tell me about Darwin}?|Charles Darwin explained how living things change over time by natural selection.
{Who was Galileo|Tell me about Galileo}?|Galileo was an Italian scientist who looked at the sky with a telescope.
{Who was Shakespeare|Tell me about Shakespeare|Who was William Shakespeare}?|William Shakespeare was an English writer of plays such as Hamlet and Romeo and Juliet.
{Who invented the telephone}?|Alexander Graham Bell is usually named as the inventor of the telephone.
{Who invented the light bulb}?|Thomas Edison is usually named, though others worked on it too.
{Who invented printing|Who invented the printing press}?|Johannes Gutenberg built the first printing press in Europe.
{How does a computer work|How do computers work}?|A computer follows a list of instructions, one after another, and works with numbers made of zeros and ones.
{How does a car work|What makes a car move}?|An engine turns the wheels. It gets its energy from petrol, diesel or a battery.
{How does a clock work}?|A spring, a weight or a battery drives wheels that move the hands at a steady pace.
{How do birds fly|Why can birds fly}?|Birds push the air down with their wings, and their bones are light.
{How do magnets work|What does a magnet do|What is a magnet}?|A magnet pulls iron toward it, and it has a north and a south pole.
{How do I plant a tree|How do I plant a flower}?|Dig a hole, put the plant in, fill the hole with soil, and give it water.
{How do I brush my teeth|How long should I brush my teeth}?|Brush all sides gently for about two minutes, in the morning and in the evening.
{How do I make coffee|How is coffee made|How do you make coffee}?|Grind roasted beans, pour hot water over them, and let it run through a filter.
{How do I make pancakes|What is the recipe for pancakes|How do you make pancakes}?|Mix flour, milk and eggs, and bake thin cakes of it in a hot pan.
{How do I make a salad|How do you make a salad}?|Wash and cut fresh vegetables, and add oil, vinegar and salt.
{How do I cook pasta|How do you cook pasta|How do I make pasta}?|Boil it in salted water for about ten minutes, and pour the water off.
{How do I cook rice|How do you cook rice}?|Use twice as much water as rice, and cook it gently until the water is gone.
{Why do we have two eyes|Why do people have two eyes}?|Two eyes let us see how far away things are.
{Why do we have bones|What are bones for}?|Bones hold up the body and protect the soft parts.
{Why does the moon shine|Does the moon make its own light}?|The moon has no light of its own. It reflects the light of the sun.
{Why do stars twinkle|What makes stars twinkle}?|Their light passes through moving air, so it flickers.
{Why is it hot in summer|Why is summer warm}?|In summer the sun stands higher and the days are longer.
{Why is it cold in winter|Why is winter cold}?|In winter the sun stands low and the days are short.
{Why do people laugh|Why do we laugh}?|People laugh when something is funny, and also to show that they like each other.
{Why do people cry|Why do we cry}?|Tears keep the eyes clean, and people also cry when they are sad or moved.
{Why do we dream|Why do people dream}?|Nobody is quite sure. Dreams may help the brain to sort what happened.
{Why do camels have humps|What is in a camel's hump}?|The humps hold fat, a store of energy for the desert.
{Why do giraffes have long necks}?|With a long neck they reach the leaves of high trees.
{Why do zebras have stripes}?|Stripes may confuse lions and keep flies away.
{Why do bears sleep in winter|Why do bears hibernate}?|In winter there is little food, so bears save energy and sleep.
{Why are flamingos pink}?|Flamingos are pink because of the shrimps that they eat.
{Why do we wear clothes}?|Clothes keep us warm and protect the skin.
{Why should I drink water|Why do we need water}?|The body is mostly water and loses some all day, so we must drink.
{Why is exercise good|Why should I do sports|Is sport healthy}?|Exercise keeps the heart strong and the mind fresh.
{Why is smoking bad|Is smoking bad}?|Smoking harms the lungs and the heart.
{Is sugar healthy|Is sugar bad for you}?|A little sugar is fine, but much of it is bad for the teeth and the body.
{Can fish fly|Are there flying fish}?|Some fish can jump out of the water and glide, but they do not really fly.
{Can penguins fly|Why can't penguins fly}?|No, penguins cannot fly. Their wings are made for swimming.
{Can an ostrich fly|Can ostriches fly}?|No, ostriches cannot fly, but they run very fast.
{Do fish sleep|Can fish sleep}?|Fish rest, but they have no eyelids, so they sleep with open eyes.
{Is a whale a fish|Are whales fish}?|No, a whale is a mammal.
{Is a bat a bird|Are bats birds}?|No, a bat is a mammal that can fly.
{Is a spider an insect|Are spiders insects}?|No, a spider is an arachnid: it has eight legs, and insects have six.
{Is a penguin a bird|Are penguins birds}?|Yes, a penguin is a bird that cannot fly.
{Is ice water|Is snow water}?|Yes, it is frozen water.
{Is water wet}?|Most people would say yes.
{Is fire hot}?|Yes, fire is very hot. Do not touch it.
{Is the moon bigger than the Earth|Which is bigger, the Earth or the moon}?|The Earth is bigger than the moon.
{Is the sun bigger than the Earth|Which is bigger, the Earth or the sun|Is the sun bigger than the moon}?|The sun is by far the biggest.
{What is heavier, a kilo of iron or a kilo of feathers|Which is heavier, a pound of lead or a pound of feathers}?|They weigh the same.
""", "ask", "answer")
