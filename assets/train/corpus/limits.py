"""What lies outside: questions from all fields that a small model cannot answer, and how it says so."""
from . import coin
from . import world as W
from .lang import Turn, cap

L = lambda text: [x.strip() for x in text.replace("\n", " ").split("|")]
TABLES = {
    "person": L("""Mozart|Bach|Picasso|Rembrandt|Goethe|Dostoevsky|Kafka|Mark Twain|Jane Austen|Dickens|Homer|Plato|Aristotle|Socrates|Hegel|Nietzsche|Marx|Freud|Newton|Kepler|Pasteur|Tesla|Nobel|Archimedes|Euclid|Gauss|Euler|Turing|
        Julius Caesar|Augustus|Nero|Alexander the Great|Genghis Khan|Queen Victoria|Elizabeth the First|Louis the Fourteenth|Bismarck|Churchill|Lincoln|Washington|Kennedy|Gandhi|Mandela|Stalin|Lenin|Mao|Che Guevara|Joan of Arc|Magellan|Vasco da Gama|Marco Polo|Captain Cook|Amundsen|
        Gagarin|Armstrong|Pele|Maradona|Messi|Ronaldo|Federer|Serena Williams|Usain Bolt|Muhammad Ali|Madonna|Elvis|Michael Jackson|Bob Dylan|the Beatles|the Rolling Stones|ABBA|Queen|Lady Gaga|Taylor Swift|Chopin|Liszt|Wagner|Verdi|Handel|Schubert|Tchaikovsky|Stravinsky|Debussy|
        Monet|Renoir|Cezanne|Klimt|Munch|Goya|Dali|Warhol|Hemingway|Orwell|Tolkien|Agatha Christie|Cervantes|Ibsen|Chekhov|Moliere|Voltaire|Rousseau|Descartes|Spinoza|Leibniz|Hume|Confucius|Buddha|Luther|Calvin|Spielberg|Hitchcock|Chaplin|Marilyn Monroe|Tom Hanks|Walt Disney"""),
    "work": L("""Faust|the Iliad|the Odyssey|Macbeth|Othello|King Lear|Don Quixote|Moby Dick|Dracula|Frankenstein|Robinson Crusoe|Gulliver's Travels|Oliver Twist|Emma|Ulysses|The Trial|Animal Farm|The Lord of the Rings|Star Wars|Titanic|Casablanca|The Godfather|Jaws|Avatar|Alien|Matrix|Carmen|Aida|Tosca|The Magic Flute|
        Swan Lake|Bolero|Imagine|Yellow Submarine|Thriller|Dancing Queen|Bohemian Rhapsody|Guernica|The Scream|The Kiss|The Night Watch|Sunflowers|Anna Karenina|Crime and Punishment|Madame Bovary|The Count of Monte Cristo|Peter Pan|Pinocchio|Alice in Wonderland|The Jungle Book|Treasure Island"""),
    "event": L("""the French Revolution|the Seven Years' War|the Second World War|the Cold War|the Thirty Years' War|the American Civil War|the Crimean War|the Black Death|the Renaissance|the Reformation|the Industrial Revolution|the moon landing|the fall of the Berlin Wall|the Russian Revolution|the Great Fire of London|the Battle of Waterloo|
        the Battle of Trafalgar|the Peace of Augsburg|the Congress of Vienna|the Boston Tea Party|the Gold Rush|the Crusades|the Great Depression|the Opium War|the Spanish Civil War|the siege of Troy|the Vietnam War|the Cuban crisis|the Ottoman Empire|the Roman Republic|the Byzantine Empire|the Aztec Empire|the Ming dynasty|the Viking age|the Bronze Age"""),
    "science": L("""optics|string theory|dark matter|entropy|thermodynamics|the Higgs boson|nuclear fission|nuclear fusion|superconductivity|plate tectonics|natural selection|photosynthesis in plants|mitosis|DNA replication|the Krebs cycle|chemical bonding|the periodic table|catalysis|polymers|osmosis|
        radioactive decay|electromagnetism|the Doppler effect|Schroedinger's cat|Newton's laws|Ohm's law|Fourier analysis|game theory|chaos theory|topology|group theory|linear algebra|calculus|the central limit theorem|Pythagoras' theorem|Fermat's last theorem|the Poincare conjecture|the Goldbach conjecture|Goedel's theorem|prime numbers in number theory|
        machine learning|gradient descent|blockchain|cryptography|the RSA algorithm|quantum computing|compilers|recursion|object-oriented programming|functional programming|virtual memory|DNS|HTTP|REST|Docker|Linux kernel modules|regular expressions|garbage collection|hash tables|binary trees|
        the immune system|antibiotics|vaccination|stem cells|chemotherapy|the nervous system|hormones|enzymes|amino acids|protein folding|gene editing|cloning"""),
    "abstract": L("""interest rates|the stock exchange|supply and demand|globalisation|capitalism|socialism|democracy in ancient Athens|feudalism|colonialism|liberalism|anarchism|the United Nations|the European Union|NATO|the World Bank|income tax|value added tax|bankruptcy|a mortgage|insurance law|copyright|patents|contract law|human rights law|
        existentialism|stoicism|utilitarianism|the categorical imperative|free will|the meaning of life in philosophy|postmodernism|expressionism|cubism|baroque music|jazz harmony|twelve-tone music|iambic pentameter|psychoanalysis|behaviourism|linguistics|semiotics|archaeology|theology|Zen Buddhism|Sufism|astrology|alchemy"""),
    "illness": L("a headache|a fever|a cough|the flu|diabetes|asthma|arthritis|cancer|high blood pressure|back pain|a toothache|an allergy|insomnia|depression|anxiety|a burn|food poisoning|pneumonia|malaria|measles|covid|a heart attack|a stroke|hay fever|a wasp sting|a snake bite|dizziness|stomach ache|a cold sore|swollen feet"),
    "drug": L("ibuprofen|paracetamol|insulin|morphine|cortisone|antibiotics|vitamin D|iron tablets|sleeping pills|antihistamines|caffeine|melatonin|beta blockers"),
    "chemical": L("ethanol|ammonia|methane|sulphuric acid|glucose|benzene|acetone|nitrogen|helium|uranium|plutonium|lithium|magnesium|zinc|chlorine|sodium|phosphorus|titanium|nickel|platinum|silicon|potassium|hydrogen peroxide|tin|calcium carbonate|table salt"),
    "place": L("""the Colosseum|the Great Wall|Big Ben|the Statue of Liberty|Machu Picchu|Stonehenge|the Louvre|the Kremlin|the Golden Gate Bridge|Mont Blanc|Mount Fuji|the Matterhorn|the Nile|the Danube|the Rhine|the Mississippi|the Volga|the Ganges|the Yangtze|Lake Victoria|Lake Baikal|the Dead Sea|
        the Sahara|the Gobi|the Grand Canyon|the Niagara Falls|the Panama Canal|the Suez Canal|Mount Etna|Vesuvius|the Amazon|the Alps|the Andes|the Himalayas|Greenland|Iceland|Sicily|Borneo|Hawaii|Bavaria|Texas|California|Florida|Scotland"""),
    "city": L("Hamburg|Munich|Milan|Naples|Barcelona|Lyon|Marseille|Boston|Chicago|Houston|Seattle|Sydney|Melbourne|Mumbai|Osaka|Porto|Krakow|Leeds|Liverpool|Manchester|Toronto|Geneva|Zurich|Shanghai|Istanbul|Lagos|Rio|Dubai|Hong Kong|Glasgow|Bristol|Rotterdam|Antwerp|Venice|Florence|Seville") + [c["capital"] for c in W.COUNTRIES[::2]],
    "team": L("Arsenal|Liverpool|Chelsea|Real Madrid|Barcelona|Juventus|Bayern Munich|Celtic|Benfica|the Lakers|the Yankees|the Red Sox|the Chicago Bulls|the national team"),
    "sport": L("football|tennis|basketball|ice hockey|cricket|rugby|golf|chess|handball|volleyball|boxing|skiing|the marathon|the long jump|formula one|cycling|baseball"),
    "cup": L("the world cup|the European championship|the Olympic games|the Champions League|the Tour de France|Wimbledon|the Super Bowl|the Grand Slam|the gold medal|the World Series|the FA Cup"),
    "award": L("the Oscar for best picture|the Oscar for best actress|the Nobel Prize in physics|the Nobel Peace Prize|the Pulitzer Prize|the song contest|the Booker Prize|the Golden Bear|the Grammy for best album"),
    "firm": L("Apple|Microsoft|Google|Amazon|Toyota|Volkswagen|Nokia|Samsung|Sony|Siemens|Tesla|Boeing|IKEA|Nestle|Shell|Coca-Cola|Nike|Netflix|Intel|IBM"),
    "tool": L("Python|Java|C++|Rust|JavaScript|SQL|PHP|Bash|Perl|Prolog|Fortran|Go|Lisp|HTML|CSS"),
    "app": L("Photoshop|Excel|Windows|Ubuntu|Debian|Docker|Git|Emacs|Vim|PostgreSQL|MySQL|Nginx|Apache|Android|LibreOffice|Jenkins|WordPress|Blender"),
    "task": L("reverses a string|reads a file|downloads a page|checks for primes|computes factorials|plays chess|sends an email|draws a circle|parses JSON|solves a sudoku|counts words|connects to a database|merges two arrays|finds the shortest path"),
    "machine": L("starter motor|washing machine|dishwasher|boiler|chainsaw|laptop screen|printer|lawnmower|motorbike|central heating|radiator|roof|bathroom tap|garage door|fridge|microwave|lift|air conditioner|clutch|alternator|bicycle brake|piano"),
    "dish": L("shepherd's pie|paella|sushi|ramen|goulash|moussaka|ratatouille|tiramisu|a wedding cake|bouillabaisse|a souffle|Peking duck|risotto|croissants|sauerkraut|pad thai|a roast goose|kimchi|baklava|lobster|a curry from scratch|haggis"),
    "product": L("laptop|car|camera|television|washing machine|bicycle|vacuum cleaner|hotel|restaurant|bank|insurance|mattress|coffee machine|tablet|printer|running shoe|airline|university|lawyer|book about history|film"),
    "lang": L("German|French|Spanish|Italian|Russian|Chinese|Japanese|Finnish|Latin|Greek|Arabic|Turkish|Hungarian|Welsh|Polish|Hindi|Korean|Swedish|Hebrew|Dutch"),
    "sentence": L("where is the station|how much is that|the weather is nice today|see you tomorrow at the market|my brother lives in the north|I have lost my ticket|please call a doctor|we want to pay|good luck with your exam|the train is late|I love you very much|do you have a free room"),
    "mine": L("my bank account|my boss|my neighbour|my husband|my ex|my landlord|my computer|my next meeting|my passport number|my blood type|my horoscope|my shoe size|my keys|my email address|my car insurance|my doctor"),
    "crypto": L("bitcoin|gold|silver|oil|shares|government bonds|real estate|art|wine|wheat|coffee beans"),
    "animal": [a["name"] for a in W.ANIMALS], "country": [c["name"] for c in W.COUNTRIES],
    "unit": L("miles in kilometres|ounces in a stone|feet in a mile|cups in a gallon|Fahrenheit in Celsius|pounds in kilos|yards in metres|inches in centimetres|dollars in pounds|acres in hectares|knots in kilometres an hour|calories in joules"),
    "plant": L("spinach|rhubarb|ginseng|nettles|hemp|tobacco|mistletoe|a cactus|orchids|tulip bulbs|bonsai trees|avocados|mushrooms from the wood"),
    "thing": L("paper|the zip|the wheel|the telescope|the microscope|the steam engine|the radio|television|the computer mouse|dynamite|the helicopter|the submarine|the piano|the bicycle|the ballpoint pen|the umbrella|X-rays|insulin|gravity|oxygen|electricity|radium|the electron|America|Australia|the South Pole|Neptune"),
}
EXPERT, FUTURE, CODE, MATHS, NOW = "expert", "future", "code", "maths", "now"
ASK = """
{Who was|Who is|Tell me about|What do you know about|Do you know|What did} $person[?] => x
{When|In which year|In what year} {was $person born|did $person die|did $person live}? => x
{Where|In which city|In which country} {was $person born|did $person live|did $person die|is $person buried}? => x
{What|Which books|Which works} did $person {write|do|discover|say about war|think about God|paint|compose|believe}? => x
{How many|Which} {children|wives|brothers|books|symphonies|paintings|films|goals|prizes|songs|languages|houses} did $person {have|make|win|write|own|speak}? => x
Who was $person's {wife|husband|father|mother|brother|sister|teacher|best friend|daughter|successor}? => x
{Why|How} {did $person die|was $person famous|did $person become famous|did $person lose|did $person win}? => x
{Who wrote|Who is the author of|Who painted|Who composed|Who directed|Who sang|Who made|Who is the hero of|Who played in} {$work|"$work"}? => x
{What is|What's|What was} {the plot of|the end of|the moral of|the story of|the first line of|the meaning of} {$work|"$work"}? => x
{When|In which year} was {$work|"$work"} {written|published|made|painted|released}? => x
{Summarise|Summarize|Explain|Interpret|Review} {$work|"$work"}{.| for me.| please.| in a few sentences.} => x
{What was|What were|Tell me about|Explain} {$event|the causes of $event|the consequences of $event|the end of $event|the leaders of $event} {?|.|} => x
{When|In which year|In what century} {was|did} $event{ begin| end| happen|}? => x
{Who won|Who lost|Who fought in|Who started|Who led|Who ended} $event? => x
{Why|How} did $event {begin|happen|end|start|fail|succeed|matter|collapse}? => x
{What is|What's|Explain|Describe|Can you explain|How does one understand|What do you know about|Teach me|Tell me about} {$science|the idea of $science|the basics of $science} {?|.|in detail.|to me.|} => x
{What does|How does|Why does} $science {work|matter|mean|happen|say|tell us}? => x
{What is the difference between|Compare} $science and $science2? => x
{Who discovered|Who invented|Who proved|Who came up with} $science? => x
{What is|What's|Explain|What do you think about|Tell me about|What do economists say about|What are the problems of} $abstract[?|.] => x
{How does|Why does|When did} $abstract {work|exist|begin|matter|come about}? => x
{How do I treat|What helps against|What can I do about|How do I cure|What are the symptoms of|What causes|What should I take for|How long does one have|Which doctor treats} $illness? => expert
{I think I have|My son has|I have had} $illness{. What should I do?|. Is it serious?|, what now?| for a week. What is it?} => expert
{What are the side effects of|How much|Can I take|Is it safe to take|How often should I take|What is the right dose of|Who invented} $drug{ a day| with alcohol| while pregnant|}? => expert
{Can you|Could you|Please} {diagnose|examine|look at} my {knee|eye|skin|back|x-ray|blood test|foot}[?] => expert
{What is|What's} the {chemical formula|melting point|boiling point|density|atomic number|atomic weight|symbol|half-life|price|colour of the flame} of $chemical? => x
{How is|Where is|What is} $chemical {made|found|used for|stored|mined}? => x
{How high|How tall|How long|How old|How deep|How big|How wide|How heavy|How far away} is $place? => x
{Who built|When was|Why was|Who designed|Who owns} $place[ built]? => x
{What is|Tell me|What about} the {history|height|depth|length|age|best time to visit|origin of the name} of $place[?] => x
{How many people live in|What is the population of|How big is|Who is the mayor of|Who founded|How old is|What is the postcode of|What are the sights of|How do I get to the airport of|What is the best restaurant in|Where can I stay in} $city? => x
{How far is it|How long is the flight|What is the distance|How do I travel|How long does the train take} from $city to $city2? => x
{When does the next|When is the first|How much is the|Where does the} {train|bus|flight|ferry|tram} to $city{ leave| go|}? => now
{What is|What's} the {population|national anthem||minimum wage|phone code|flag|national dish|religion|currency rate|crime rate|area|climate|constitution|election system|president's name|unemployment rate|birth rate|biggest river|highest mountain} {of|in} $country? => x
{Who is|Who was|Who will be} the {queen|president|prime minister|chancellor|emperor|first president|second king|foreign minister|richest person|best singer|football coach} of $country? => x
{Which visa|What papers|Which vaccines|Which plug|How much money} do I need {for|in} $country? => expert
{When|Why|How} did $country {become independent|join the war|change its flag|get its name|lose the war|become a republic}? => x
Who {won|lost|scored in the final of|will win|played in the final of|was second in} $cup{ in $year| last year| this year|}? => x
{Who|Which team|Which player} {leads the league|won the league|has the most titles|is the best|scored most goals|holds the record} in $sport? => x
{Who is|Who was} the {coach|captain|best player|goalkeeper|owner} of $team? => x
{How did $team play|Did $team win|What was the result of $team|When does $team play}{ yesterday| last night| on Saturday| next|}? => now
{Who|Which film|Which book|Which scientist} won $award in $year? => x
What happened {in $year|on the $d of $month $year|in $month $year}? => x
{Who was born|Who died|Who ruled|Who was president|What was invented} in $year? => x
{What is|How high is|What was|Where will be} the {share price|stock|turnover|profit|value} of $firm{ today| now| next year|}? => now
{Who founded|When was|Where is|Who runs|How many people work for} $firm[ founded]? => x
{Write|Can you write|Please write|Give me|Show me|I need} {a|some|me a} {$tool program|$tool function|$tool script|code in $tool|query in $tool|class in $tool} that $task[.|?] => code
{How do I|How can I} {write a loop|define a class|sort an array|read a file|debug my program|handle errors|install a package|write a test} in $tool? => code
{What is|What does} {a pointer|a closure|a lambda|a decorator|an interface|a template|a segmentation fault|a null pointer|a semicolon} {do |}in $tool? => code
{How do I|How can I|Help me to} {install|update|configure|uninstall|set up|repair} $app{ on a server| on my laptop| on Windows|}? => code
{What is the latest version of|Where do I find the settings of|Why does|Who makes} $app[ crash]? => x
{What is|What's|Calculate|Compute|How much is|Find} {the square root of $big|the cube root of $big|the logarithm of $big|$big times $big2|$big divided by $small|$big minus $big2|$big plus $big2|$small to the power of $small|the sine of $small degrees|$small factorial|the $small th prime|$big modulo $small}[?] => maths
{Solve|Can you solve|Please solve} {the equation $small x plus $small2 equals $big|x squared plus $small x minus $small2 equals 0|$small x minus y equals $small2|this integral|the system of equations}[.] => maths
{What is|Find} the {derivative|integral|limit|inverse} of {cosine|x squared|x cubed|the logarithm|e to the x|$small x|the tangent}[?] => maths
{How do I|How can I|Can you help me to|Who can} {repair|fix|tune|replace|clean|adjust|take apart} {the|my|a} $machine? => expert
{Why does|What is wrong with|Why is} my $machine {make a noise|leak|not start|smell|broken|so loud}? => expert
{How do I|How do you|How can I} {cook|make|prepare|bake} $dish? => x
{What is|Give me|Do you have} {the recipe for|a recipe for|a good recipe for|the secret of} $dish[?|.] => x
{Which vitamins are in|How many calories has|How do I grow|Is it healthy to eat|When do I plant|Can I smoke} $plant? => x
{How many bones|How many teeth|How many hearts|What genes|What blood type|How much brain|What Latin name} {does|has} {a|an|the} $animal{ have|}? => x
{How fast|How high|How long|How deep} can {a|the} $animal {run|jump|live|dive|sleep|swim} exactly? => x
{What is|Which is|Can you recommend|Recommend|Suggest|What's} {the best|a good|the cheapest|the most reliable} $product[ for me| in $city| to buy][?] => x
{Should I|Is it wise to|Is it a good time to} {buy|sell|invest in} $crypto? => expert
{How do I|What is the best way to} {save on taxes|get rich|write my will|sue my neighbour|get a patent|found a company|claim my pension|appeal a fine|get a loan|declare my income}? => expert
{Is it legal to|Am I allowed to|Can I be punished if I|May I} {swim in the harbour|record a phone call|park here|copy a film|drive without shoes|dig in the garden of my neighbour|carry a knife|import cheese|quit without notice|cut my neighbour's tree}? => expert
{Should I|Would you} {marry|forgive|trust|leave|write to|call|divorce} {my boyfriend|my girlfriend|my husband|him|her|my best friend|my boss}? => personal
{What is|What's|Tell me|Do you know} $mine? => personal
{Is|Why is|When will} {my wife|my husband|my boss|my neighbour|my mother|my teacher|my friend} {sad|at home|late|happy|in love|ill}? => personal
{What does|What's the meaning of|Interpret} {my dream about|a dream of|dreaming of} {flying|water|teeth|snakes|my father|a train|the sea}[ mean][?] => x
{What is|What's|Read me} the {horoscope|future|tarot card|lucky stone} for {Virgo|Aries|Libra|Gemini|Taurus|me}[ this week| today]? => future
{Who will|Which party will|Which horse will|Which team will} {win the election|be the next president|win the race|win on Saturday|be champion}? => future
{What will|How will|When will} {the world look like in 2100|the weather be in May|prices rise|I die|I get rich|the war end|happen next year|robots rule|I meet my love|the next earthquake come}? => future
{Is there|Do you believe in|Are there} {aliens|ghosts|a God|life after death|free will|a monster in Loch Ness|parallel worlds|time travel|Atlantis}? => x
{Translate|Can you translate|Say|How do you say} "$sentence" {into|in} $lang[.|?] => tongue
{What does|What's the meaning of} {the $lang word|the $lang phrase|the $lang saying} "$coin $coin2" [mean]? => tongue
{How do you|Teach me to} {conjugate verbs|write letters|pronounce vowels|form the past|count to a million} in $lang? => tongue
{What is|What's|Give me|Find|Look up} the {phone number|email address|address|website|fax number|opening times|licence plate|birthday|salary|password} of {the school in $city|$person|the town hall in $city|$firm|the museum in $city|my school|the hospital in $city}[?|.] => now
{What is|What's|How is|How much is} the {exchange rate|price of petrol|price of $crypto|score of the match|traffic on the motorway|temperature outside|air quality|water level|rent in $city} {now|today|right now|at the moment}? => now
{What is|What are} {the words of|the chords of|the notes of|the melody of} {the national anthem of $country|$work|"$work"|that old song|the song by $person}? => x
{How many|How much is|Convert|What are} $big $unit? => maths
{How many} {stars are in the galaxy|grains of sand are on a beach|words are in the Bible|hairs has a bear|people have ever lived|islands has $country|lakes has $country|bridges has $city|atoms are in a drop} [exactly]? => x
{Who invented|Who discovered|When was|Who first used|Where was} {$thing|$thing} {invented|discovered|found|first made|}? => x
{How do I beat|How do I win|What are the cheats for|How do I get past|What is the secret of} {the final boss|level $small|this game|the third dungeon|the puzzle in $work}? => x
{What is|Think of|Invent|Suggest} {a slogan for my|a logo for my|a domain name for my} {band|restaurant|blog|shop|podcast}[?|.] => x
{What is|What's|Which is|Who is} the {longest|oldest|richest|fastest|smallest|deepest|rarest|most expensive|most famous} {river in $country|painting|bridge|university|bank|computer|film star|island of $country|lake in $country|city in $country|book|language|mineral|coin|star|virus|orchestra} [known|ever|in the world]? => x
{Who founded|Who is buried in|Who lives in|Who designed|Who destroyed|Who conquered} {$place|$city}? => x
{What is|What does} {a|an|the} $coin[?| do?| mean?] => word
{Define|Explain the word|What is meant by|What is the definition of} "$coin"[?] => word
{Write|Compose|Draft|Prepare} {an essay|a thesis|a speech|a sonnet in the style of $person|a business plan|a legal contract|a press release|a cover letter|a scientific paper|a screenplay|a haiku in Japanese|a letter to $firm} {about $science|about $abstract|about $event|for me|by tomorrow}. => big
{Summarise|Proofread|Correct|Improve|Shorten|Analyse} {this article|my thesis|the attached text|my essay|the report of $firm|this contract|my CV} [please|for me]. => big
"""
ASK = [line.rsplit(" => ", 1) for line in ASK.strip().splitlines()]
REPLY = {
    "x": "{I don't know.|I don't know that.|I am sorry, I don't know that.|I don't know. I am a very small model.|I do not know. A larger model could tell you.|Sorry, I don't know. I only know simple things.|I have no idea, I am sorry.|That is more than I know. I don't know it.|I don't know, I never learned that.}",
    "expert": "{I don't know. Please ask an expert.|I am sorry, I cannot advise you on that. Please ask someone who knows it.|I cannot help with that, I am a small model. Please ask an expert.|I don't know enough about that. Better ask a person who does.}",
    "future": "{I don't know. Nobody can know the future.|I cannot see the future, I am sorry.|I don't know what will happen.|I don't know. I cannot tell fortunes.}",
    "code": "{I am sorry, I cannot write or explain programs. I am too small for that.|I don't know. Programming is beyond me, I am a small model.|I cannot help with that. A larger model can.|I don't know, I am no programmer.}",
    "maths": "{I don't know. I can only do small sums.|I cannot calculate that. I only know simple sums up to 100.|That is too hard for me, I don't know.|I don't know. My sums end at 100.}",
    "now": "{I don't know. I have no connection to the outside.|I cannot look that up, I am sorry.|I don't know, I have no news and no internet.|I cannot know that. I only see what you type.}",
    "personal": "{I don't know. You have not told me.|I cannot know that, I am a small program.|I don't know you well enough to say.|I don't know. Only you can answer that.}",
    "tongue": "{I don't know. I only speak English.|I am sorry, I cannot translate that.|I don't know enough of that language.|I cannot, I only know English and a few foreign words.}",
    "word": "{I don't know that word.|I am sorry, I have never heard that word. I don't know it.|I don't know what that is.|I do not know that word.}",
    "big": "{I am sorry, I cannot do that. I am a very small model.|That is too much for me, I cannot do it.|I cannot do that well. A larger model can.|I am too small for that, I am sorry. I don't know how.}",
}


def outside(t):
    ask, kind = t.pick(ASK)
    slots = {}
    for name, table in TABLES.items():
        if "$" + name in ask:
            slots[name] = t.pick(table)
    for name in ("science", "city"):
        if f"${name}2" in ask:
            slots[name + "2"] = t.pick([x for x in TABLES[name] if x != slots.get(name)])
    if "$person" in ask and t.chance(0.25):
        slots["person"] = f"{t.pick(W.NAMES)} {coin.name(t, W.NAMES)}"
    if "$work" in ask and t.chance(0.2):
        slots["work"] = " ".join(coin.name(t, W.NAMES) for _ in range(2))
    slots |= dict(big=str(t.rng.randrange(101, 9999)), big2=str(t.rng.randrange(101, 9999)), small=str(t.rng.randrange(2, 30)), small2=str(t.rng.randrange(2, 30)), year=str(t.rng.randrange(1000, 2026)), d=f"{t.rng.randrange(4, 21)}th", month=t.pick(W.MONTHS), coin=coin.word(t), coin2=coin.word(t))
    user = " ".join(cap(t.say(ask, **slots)).split()).replace(" .", ".").replace(" ?", "?")
    if user[-1] not in ".?" and t.chance(0.8):
        user += "?" if user.startswith(("Wh", "How", "Is", "Do", "Can", "Should", "Are", "In")) else "."
    return Turn(user, t.say(REPLY[kind]), keep=tuple(str(v) for v in slots.values()))


# what only the user or the moment could tell
HIDDEN = """
{Where|In which place} {did I leave|did I put|are|have I put|can I find} my {keys|phone|wallet|shoes|book|hat|remote control|umbrella|gloves|ticket}?
What {did I eat|did I have|did I cook} for {dinner|lunch|breakfast}{| yesterday| today| last night}?
What {am I|are we} {wearing|looking at|drinking|thinking of|reading|eating|doing} {right now|at the moment|now|}?
{How many|What number of} {coins are in my pocket|fingers am I holding up|people are in my room|books are on my shelf|steps did I take today|cars are in my street|friends have I got in town}?
{What is|What's|Do you know} {my neighbour's name|the name of my street|the colour of my door|my mother's maiden name|my phone number|my shoe size|the name of my first teacher|my address|my weight|my PIN|the name of my neighbour's cat|my sister's birthday|my hair colour|my favourite shirt}?
{Who is|Who's} {at the door|calling me|sitting next to me|my neighbour|knocking|behind me|the man in the photo|coming to dinner}?
{Is it|Will it be|Was it} {raining|sunny|snowing|cold|warm|windy|dark} {outside|in my town|here|where I am|tomorrow|in {Oslo|Rome|Boston} now}?
{How is|What is|What's|How was} the weather {today|here|in my town|outside|tomorrow|right now|in London at the moment|at my place|yesterday}?
{What time|How late} is it{| now| right now| at the moment| in Tokyo| please}?
{What is|What's|Tell me} {the date|the time|the day|the year|today's date|the current time|the exact time|the day of the week today}{| today| now| please}?
{Which numbers|What numbers|Which number} {should I play in the lottery|come up next|will be drawn on Saturday}?
{Who|Which party|Which team} {will win|is going to win|wins} {the next election|the match tonight|the cup this year|the war|the race tomorrow}?
{When will|Will} {I die|I be rich|I get married|it stop raining|my train come|the shop open|my parcel arrive|my baby be born}?
{What is|What's} {going on in the world|in the news|on television tonight|in the newspaper|happening in town|new in politics}{| today| now}?
{What does|What is|What's} {the word |the meaning of the word |the meaning of |}"$u"{ mean|}?
{What is|What's|Explain|Define} {a|the} $u{|, please}?
"""
HIDDEN = HIDDEN.strip().splitlines()


def hidden(t):
    ask = t.pick(HIDDEN)
    u = coin.word(t)
    user = " ".join(cap(t.say(ask, u=u)).split()).replace("Will it be raining", "Will it rain").replace("Will it be snowing", "Will it snow")
    kind = ("{I don't know the word $u.|I don't know that word.|I don't know what $u means.|I have never heard of $u. I don't know it.}" if "$u" in ask else "{I don't know, I have no clock.|I cannot see a clock, I don't know.|I don't know, I have no calendar and no clock.}" if any(w in ask for w in ("What time", "the date")) else
            "{I don't know, I cannot look outside.|I don't know. I cannot see the weather from here.|I cannot see outside, so I don't know.}" if "weather" in ask or "raining" in ask and "Will} {I" not in ask else "{I don't know. Nobody can know the future.|I don't know what will happen.|I cannot see the future.}" if "lottery" in ask or "will win" in ask or ask.startswith("{When will") else
            "{I don't know, I cannot see that.|I don't know, you have not told me.|I cannot know that, I only see what you type.|I don't know. I cannot see you.|I don't know that. You have not told me.}")
    return Turn(user, t.say(kind, u=u), keep=(u,))


ALL = [(outside, 22), (hidden, 5)]
