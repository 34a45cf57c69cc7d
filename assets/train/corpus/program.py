"""What the model knows of bitnet-chat: its commands, keys and options, BitNet, and the words of the field."""
from .lang import Turn
from .smalltalk import lines

# command | what one wants to do, several wordings | what it does (after the command as the subject)
COMMANDS = """
/help => see all commands|get help|see the list of commands|find out which commands there are => shows all commands with a short explanation
/new => start a new conversation|begin a new chat|start over|open a fresh chat => starts a new conversation; the old one stays stored
/open ID => open an old conversation|go back to an old chat|load a stored chat => opens the stored conversation with that id; /list shows the ids
/list => see my old conversations|list my chats|find stored chats|see all chats => lists the stored conversations with their ids
/search TEXT => search in my chats|find a word in old chats|search old conversations => finds the stored messages that contain the text
/title TEXT => rename a conversation|give the chat a title|change the title of the chat => gives the conversation a new title
/archive => hide a conversation|archive a chat|put a chat away => puts the conversation away without deleting it
/delete => delete a conversation|remove a chat|erase this chat => deletes the conversation for good
/regen => get another answer|let you answer again|make the model answer once more|get a second try|have the question answered again|repeat the last answer differently|regenerate the answer|try the answer again|get a new answer to the same question => throws the last answer away and writes a new one
/undo => undo the last message|take back my last message|remove the last turn|go one step back => takes back your last message and its answer
/redo => redo what I undid|bring back an undone message => brings back what /undo took away
/edit => change my last message|edit my message|correct what I typed => lets you change your last message and asks again
/continue => continue a stopped answer|let it go on writing|continue a cut answer => lets the model go on with its last answer
/fork => try another direction|copy the conversation|make a branch => makes a new branch of the conversation at this point
/branches => see the branches|list the branches of a chat => lists the branches of the conversation
/goto N => jump to an earlier message|go back to message 3|jump to another message => jumps to message N, so that you can go on from there
/set => change a setting|see the settings|change the temperature|set a parameter => shows or changes a setting, for example /set temp 0.7
/reset => reset the settings|restore the defaults|go back to the default settings => sets all settings back to their defaults
/seed N => get the same answer twice|set the random seed|make answers repeatable => sets the random seed, so that the same question gives the same answer
/system TEXT => set a system prompt|tell the model how to behave|give the model a role|change the system prompt => sets the system prompt, which tells the model how to behave
/show model => see which model is loaded|get details of the model|find out what model this is => shows the model that is loaded and its details
/show params => see the sampling settings|see the current parameters => shows the sampling settings
/show prompt => see the exact prompt|see what the model really reads => shows the exact text that the model reads
/show context => see how full the context is|check how much context is left|see the context usage => shows how many tokens of the context are used
/show stats => see the speed|see the tokens per second|know how fast the model runs|see how quick it is|see how many tokens per second I get|see statistics => shows the speed and other statistics
/tokens => see the tokens of an answer|look at the tokens => shows the tokens of the last answer
/alt => see other likely words|see the alternatives|see the probabilities => shows the most likely other tokens of the last answer, with their probabilities
/read FILE => put a file into the chat|read a file|load a text file => reads a text file into your message
/copy => copy the answer|copy a code block|copy text to the clipboard => copies the last answer, or the code block with that number
/export FMT FILE => save a conversation to a file|export a chat|save the chat as markdown|save the chat as JSON => writes the conversation to a file, as md, json or openai
/import FILE => import a conversation|load an exported chat => reads a conversation from a file
/compact => make room in the context|shorten a long chat|free context space => makes a long conversation shorter, so that there is room again
/record FILE => record the session|make a recording of the screen => records the session to a file
/replay ID => play an old chat again|replay a conversation => plays a stored conversation again
/private => chat without storing|turn off saving|use private mode|chat so that nothing is saved => switches to private mode: nothing is stored
/quit => quit the program|close the window|stop the program|end this session|end the chat program|close this app|shut it down|exit the program|leave bitnet-chat|close bitnet-chat|get out of here|exit => ends the program; /bye and /exit do the same
"""
KEYS = """
Enter => send a message|send what I typed => sends your message
Alt-Enter => start a new line|write several lines|insert a line break => starts a new line in the input; Ctrl-J does the same
Esc => stop an answer|stop generating|abort the answer|make you stop talking|break off an answer|interrupt the model|stop the model from writing => stops the answer that is being written
Ctrl-C => clear the input|cancel|clear the line => clears the input, then stops an answer, and pressed again it quits
Ctrl-D => quit with a key|leave with the keyboard => quits when the input is empty
Ctrl-R => search the history|find something I typed before => searches what you typed before
Ctrl-X Ctrl-E => use my editor|edit a long message in an editor|open an editor => opens your message in your editor
Tab => complete a command|complete a word|complete a file name => completes a command or a file name
PgUp => scroll up|see older messages|scroll back => scrolls up; PgDn scrolls down
Ctrl-F => find text on the screen|search on the screen => finds text in the transcript
Ctrl-L => redraw the screen|repair a broken screen|clean the screen => redraws the screen
Ctrl-Z => suspend the program|go back to the shell for a moment => suspends the program; fg brings it back
F1 => open the help with a key|see the help screen => shows the help
"""
OPTIONS = """
--device => choose a device|use another graphics card|choose the GPU|run on the CPU => chooses the device by number, by name, or cpu
--ctx => set the context length|use a longer context => sets the context length in tokens
--seed => set the seed at the start|get repeatable answers from the command line => sets the random seed
--temp => set the temperature at the start|choose the temperature on the command line => sets the temperature; 0 is greedy
--top-k => limit the choice to the k best tokens => keeps only the k most likely tokens
--top-p => set top-p at the start => keeps the most likely tokens that together reach the probability p
--min-p => set min-p|drop unlikely tokens => drops tokens that are much less likely than the best one
--repeat-penalty => avoid repetitions|stop the model from repeating itself => makes tokens less likely that were just used
--max-tokens => limit the length of an answer|get shorter answers from the program => limits the number of tokens in an answer
--stop => stop at a certain word|set a stop text => ends an answer at that text
--system => give a system prompt at the start|start with a system prompt => sets the system prompt; @FILE reads it from a file
--private => start in private mode|start without storing anything => stores nothing of the conversation
--db => use another database|choose where chats are stored => uses that database file
--no-color => turn off colours|get rid of the colours => turns off colours
--record => record a session from the start => records the session to a cast file
--verbose => see more messages|get more details|debug the program => prints more details about what the program does
--script => run a script|automate a chat => runs a script of messages and commands
--output => get JSON output from a script|get machine readable output => chooses text or jsonl as the output of a script
-p => ask a single question|get one answer on the command line|use it in a shell script => gives one answer to the text on standard output and ends
-c => continue the last conversation|go on with my last chat => continues the last conversation
--resume => resume an old chat from the command line => continues the conversation with that id
"""
SUBCOMMANDS = """
bitnet-chat list => list chats from the shell|see my chats from the shell => lists the stored conversations
bitnet-chat show ID => print a stored chat|print an old conversation => prints a stored conversation
bitnet-chat search TEXT => search chats from the shell => finds messages in the stored conversations
bitnet-chat export ID => export a chat from the shell => writes a conversation as md, json or openai
bitnet-chat import FILE => import a chat from the shell => reads a conversation from a file
bitnet-chat delete ID => delete a chat from the shell => deletes a stored conversation
bitnet-chat info MODEL => see what is in a model file|inspect a GGUF file => shows what a model file holds
bitnet-chat devices => see which devices I have|see which graphics cards there are|find out which GPUs can be used|see the usable devices|list the graphics cards|check my GPU => lists the devices that can run a model and how it would fit
bitnet-chat tokenize MODEL => turn text into tokens => turns text from standard input into token ids
bitnet-chat detokenize MODEL => turn tokens into text => turns token ids back into text
bitnet-chat bench MODEL => measure the speed|benchmark my computer|run a benchmark => measures how fast a model runs
bitnet-chat replay ID => replay a chat from the shell => draws a stored conversation again; with --verify it runs the model again
"""
WORDS = """
{What is|What's|Explain|Can you explain|What do you know about|Tell me about|What does it mean:} {bitnet-chat|this program|this software|the bitnet-chat program}[?] => bitnet-chat is a program for the terminal that runs BitNet models on your own computer, with its own Vulkan engine.|bitnet-chat is a chat program for the terminal. It runs BitNet models on your graphics card, and stores your conversations on your computer.
{What is|What's|Explain|Can you explain|What do you know about|Tell me about} {BitNet|BitNet|a BitNet|BitNet, in simple words|BitNet in short|BitNet b1.58|the BitNet model|1-bit models}[?] => BitNet is a kind of language model whose weights are only -1, 0 or +1. It needs little memory and little energy.|BitNet b1.58 is a language model with ternary weights: each one is -1, 0 or +1, which is 1.58 bits of information.
{What are|What is|What's|Explain|Tell me about} {ternary weights|a ternary weight|ternary numbers in a model|ternary quantization}[?] => A ternary weight has only three values: -1, 0 or +1. So a model needs little memory, and multiplying becomes adding and subtracting.|Ternary weights are weights that can only be -1, 0 or +1. Such a weight fits in less than two bits.
{Why 1.58 bits|What does 1.58 mean|Why is it called b1.58|What does b1.58 mean}? => A choice among three values holds log2(3) bits, and that is about 1.58.|Three values, -1, 0 and +1, need about 1.58 bits each.
{What is|What's|Explain|Can you explain|Tell me about} {a KV cache|the KV cache|KV caching}[?] => The KV cache keeps the keys and values of the tokens that were already read, so that the model need not compute them again.|It is a memory of the text so far: the keys and values of each token are stored, so each new token costs little work.
{What is|What's|Explain|Can you explain|What does|Tell me about} {temperature|the temperature|temp|the temp setting}[?] => The temperature says how bold the choice of words is. At 0 the model always takes the most likely word; higher values bring more surprise.|With a low temperature answers are safe and similar; with a high one they are more varied and sometimes odd.
{What is|What's|Explain|Can you explain|Tell me about} {top-p|top_p|nucleus sampling|the top-p setting}[?] => With top-p the model chooses only among the most likely tokens that together have the probability p, for example 0.9.|Top-p cuts off unlikely words: only the best ones, which together reach the probability p, can be chosen.
{What is|What's|Explain|Can you explain|Tell me about} {top-k|top_k|the top-k setting}[?] => With top-k the model chooses only among the k most likely tokens.|Top-k keeps the k best candidates for the next token and drops all others.
{What is|What's|Explain|Can you explain|Tell me about} {min-p|min_p}[?] => Min-p drops every token whose probability is below a share of the best token's probability.
{What is|What's|Explain|Tell me about} {the repeat penalty|a repeat penalty|repetition penalty|repeat_penalty}[?] => The repeat penalty makes words less likely that were just used, so that the text does not repeat itself.
{What is|What's|Explain|Can you explain|Tell me about} {a token|tokens|tokenization}[?] => A token is a piece of text, often a word or a part of a word. Models read and write tokens.|Tokens are the pieces into which text is cut before a model reads it: words, parts of words, and signs.
{What is|What's|Explain|Tell me about} {a tokenizer|the tokenizer|BPE|byte pair encoding}[?] => A tokenizer cuts text into tokens. BPE builds them by joining the pairs of pieces that occur most often.
{What is|What's|Explain|Tell me about} {the context|a context window|the context length|context}[?] => The context is the text that the model can see at once, counted in tokens. Mine holds 1024 tokens.|It is how much text the model can look at. When it is full, use /compact, /undo or /new.
{What is|What's|Explain|Tell me about} {a language model|a large language model|an LLM|LLMs}[?] => A language model is a program that has learned from much text which word is likely to come next, and so it can write.
{What is|What's|Explain|Tell me about} {artificial intelligence|AI|machine learning}[?] => Artificial intelligence means programs that do things which usually need a mind, such as understanding language.|Machine learning means that a program learns from examples instead of following fixed rules.
{What is|What's|Explain|Tell me about} {a neural network|neural networks}[?] => A neural network is a set of numbers, called weights, that turns an input into an output and that is trained with examples.
{What is|What's|Explain|Tell me about} {a weight|weights|a parameter|parameters}[?] => Weights are the numbers that a model has learned. Mine are only -1, 0 and +1.
{What is|What's|Explain|Tell me about} {quantization|a quantized model|quantisation|the use of quantization|quantization good for}[?] => Quantization means storing numbers with fewer bits, so that a model becomes smaller and faster.
{What is|What's|Explain|Tell me about} {GGUF|a GGUF file|the GGUF format}[?] => GGUF is a file format for language models. It holds the weights, the tokenizer and the settings in one file.
{What is|What's|Explain|Tell me about} {i2_s|the i2_s format}[?] => i2_s is the way in which BitNet files store ternary weights: two bits for each weight and one scale for each matrix.
{What is|What's|Explain|Tell me about} {Vulkan|the Vulkan engine}[?] => Vulkan is an interface that lets programs use the graphics card. bitnet-chat does its computing with it.
{What is|What's|Explain|Tell me about} {a GPU|a graphics card}[?] => A GPU is a chip that does many small computations at the same time. It makes pictures and runs models fast.
{What is|What's|Explain|Tell me about} {a CPU|a processor}[?] => A CPU is the main chip of a computer. It carries out the instructions of programs.
{What is|What's|Explain|Tell me about} {prefill|the prefill|decode|decoding}[?] => Prefill is reading the prompt, many tokens at once. Decode is writing the answer, one token after another.
{What is|What's|Explain|Tell me about} {a prompt|the prompt|a system prompt|the system prompt}[?] => A prompt is the text that a model gets. The system prompt tells it how to behave; you set it with /system.
{What is|What's|Explain|Tell me about} {a chat template|the chat template}[?] => The chat template says how the messages of a chat are written into one text that the model can read.
{What is|What's|Explain|Tell me about} {greedy decoding|greedy}[?] => Greedy decoding always takes the most likely token. You get it with temperature 0.
{What is|What's|Explain|Tell me about} {a seed|the seed|random seed}[?] => A seed is the number from which chance starts. The same seed gives the same answer.
{What is|What's|Explain|Tell me about} {a transformer|the transformer|attention}[?] => A transformer is a kind of neural network. With attention each token looks at the tokens before it.
{How do I|How can I|Where can I|How do you} {get|download|install|use|find|obtain|load} {Microsoft's model|a larger model|a stronger model|a smarter model|another BitNet model|the Microsoft model|the big model|a bigger model|a better model|the real model|BitNet 2B|the 2B model}? => Download ggml-model-i2_s.gguf from microsoft/bitnet-b1.58-2B-4T-gguf on Hugging Face, then run: bitnet-chat ggml-model-i2_s.gguf|Get the file ggml-model-i2_s.gguf from the Hugging Face repository microsoft/bitnet-b1.58-2B-4T-gguf and start bitnet-chat ggml-model-i2_s.gguf
{Is there a bigger model|Is there a better model|Can I use another model|Which other models can I use|What models does bitnet-chat support|Can I load other models}? => Yes, Microsoft's BitNet b1.58 2B with two billion weights. Download ggml-model-i2_s.gguf from microsoft/bitnet-b1.58-2B-4T-gguf on Hugging Face.|Yes: start bitnet-chat with the name of a GGUF file of a BitNet model, for example ggml-model-i2_s.gguf
{How do I|How can I} {load another model|start it with a model|run a model|choose a model}? => Give its file name when you start: bitnet-chat MODEL.gguf
{Where are|Where does bitnet-chat store|Where do you keep|Where can I find} {my chats|my conversations|the chats|the conversations}[ stored]? => In a SQLite database on your computer: chats.db in the folder bitnet-chat of your data directory.|They are in chats.db, in ~/.local/share/bitnet-chat on most systems.
{Is my data safe|Is this private|Do you send my data somewhere|Does anyone read this|Is anything sent to the internet|Who can read my messages}? => Everything stays on your computer. Nothing is sent anywhere.|Your chats stay on your computer. With /private they are not even stored.
{How much memory do I need|How much memory does it need|What do I need to run it|What hardware do I need}? => I need only a few dozen megabytes. Microsoft's model needs about 1.2 GB and a device with Vulkan.
{Why are you so fast|Why is it so fast|How fast are you}? => I am tiny: only 22 million weights. /show stats shows the speed.
{Why are you so small|Why are you so bad|Why are you so dumb|Why don't you know more|Why do you know so little}? => I fit into about 14 MB so that I can come with the program. For better answers load Microsoft's model with two billion weights.|I am a demonstration with 22 million ternary weights. A larger model knows far more.
{What happens when the context is full|What do I do when the context is full|The context is full}[?] => Nothing is dropped silently. Use /compact to shorten the chat, /undo to go back, or /new for a new one.
{What settings are there|Which settings can I change|What can I set|Which parameters can I set}? => /set knows temp, top_k, top_p, min_p, repeat_penalty, repeat_last, seed, max_tokens, stop and ctx.
{How do I|How can I} {make the answers more creative|get more creative answers|get more varied answers}? => Raise the temperature, for example with /set temp 1.0
{How do I|How can I} {make the answers less random|get the same answer each time|get safer answers}? => Lower the temperature, for example with /set temp 0
{How do I|How can I} {send a message that begins with a slash|type a slash}? => Type two slashes: // sends a literal slash.
{What commands are there|Which commands can I use|What commands do you have|List the commands|Show me the commands}[?] => Some of them: /help, /new, /list, /open, /search, /regen, /undo, /edit, /set, /system, /show, /export, /private and /quit. /help shows all.
{What keys are there|Which keys can I use|What are the keyboard shortcuts}? => Enter sends, Alt-Enter starts a new line, Esc stops an answer, Tab completes, PgUp scrolls, F1 shows the help, and Ctrl-D quits.
{What licence does bitnet-chat have|Is bitnet-chat free|Is it open source|What is the license}? => bitnet-chat is free software under the GNU GPL, version 3 or later.
{What language is bitnet-chat written in|How is bitnet-chat written|Which programming language is it written in}? => It is written in C++20, with its own engine on Vulkan.
{How does bitnet-chat work|How does this program work|How does it work}? => bitnet-chat turns your text into tokens, runs the model on your graphics card, and writes the answer token by token.
{What is undo good for|Does undo cost time|What happens when I undo} => /undo takes the last turn back. The KV cache is rewound, so only what differs is read again.
"""


def entries(text, kind):
    return [(name, asks.split("|"), does, kind) for name, asks, does in lines(text)]


ENTRIES = entries(COMMANDS, "command") * 2 + entries(KEYS, "key") + entries(OPTIONS, "option") + entries(SUBCOMMANDS, "call")
WORDS = lines(WORDS)


def command(t):
    name, asks, does, kind = t.pick(ENTRIES)
    bare = (name if name.startswith("/show") else name.split()[0]) if kind != "call" else " ".join(name.split()[:2])
    if t.chance(0.62):  # from the wish to the command
        wish = t.pick(asks)
        ask = t.say("{How do I|How can I|How do you|How to|I want to|What do I type to|What is the command to|I would like to|Can I|How could I|What should I do to|"
                    "Which command lets me|Is there a way to} $w", w=wish)
        ask += "." if ask.startswith(("I want", "I would")) else "?"
        if kind in ("command",) and t.chance(0.12):
            ask = t.say("{Which|What} command do I {use|need} to $w?", w=wish)
        if kind == "key" and t.chance(0.3):
            ask = t.say("{Which|What} key {lets me|do I press to} $w?", w=wish)
        if kind == "option" and t.chance(0.3):
            ask = t.say("{Which|What} option lets me $w?", w=wish)
        lead = {"command": "{Use|Type|You can use} $n. It $d.|Type $n. It $d.|Use $n: it $d.|With $n. It $d.",
                "key": "Press $n. It $d.|Use $n: it $d.|The key $n does that. It $d.",
                "option": "Start bitnet-chat with $n. It $d.|Use the option $n. It $d.",
                "call": "Run $n in the shell. It $d.|Use $n. It $d."}[kind]
        return Turn(ask, t.say("{" + lead + "}", n=name, d=does), keep=(name,), short=name, topic=("command", name))
    forms = {"command": "{What does $b do|What is $b|What is $b for|What does the command $b do|Explain $b|Tell me about $b|When do I use $b|What happens with $b|$b}[?]",
             "key": "{What does $b do|What does the key $b do|What happens when I press $b|What is $b for}?",
             "option": "{What does $b do|What is the option $b|What does the option $b do|Explain $b|What is $b for}[?]",
             "call": "{What does $b do|What is $b for|Explain $b}[?]"}[kind]
    return Turn(t.say(forms, b=bare), t.say("{$b $d.|It $d.|$n $d.}", b=bare, n=name, d=does), keep=(bare,), topic=("command", name))


def words(t):
    ask, reply = t.pick(WORDS)
    return Turn(t.say(ask), t.say("{" + reply.replace("[", "(").replace("]", ")") + "}"), keep=())
