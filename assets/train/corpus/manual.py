"""The finer points of bitnet-chat: the screen, files, scripts, recordings, messages, and first steps."""
from .lang import Turn
from .smalltalk import lines

MANUAL = """
{How do I|How can I} {start|run|launch|use} {bitnet-chat|the program|this program}? => Run bitnet-chat for the model that comes with it, or bitnet-chat MODEL.gguf for another one.|Type bitnet-chat in a terminal. With a file name after it, that model is loaded.
{How do I|How can I} {build|compile} {bitnet-chat|the program}? => With CMake: the README shows the commands.
{How do I|How can I} {ask one question from the shell|use it in a pipe|get a single answer|pipe text into it}? => Use bitnet-chat -p "your question", or pipe the text in: echo question | bitnet-chat. The answer goes to standard output.
{What does the status line show|What is in the status line|What do I see at the bottom|What does the bar show}? => The model, the device, the state, the speed in tokens per second, how much of the context is used, and whether the chat is stored.
{What does N new lines mean|Why does it say new lines|Why does the screen not follow the text}? => You have scrolled up. The screen follows the end only while you are at the end; PgDn brings you back.
{How do I|How can I} {scroll|move in the transcript|read older text}? => PgUp scrolls up and PgDn scrolls down.
{How do I|How can I} {write a long message|type more than one line|write code in a message|paste a long text}? => Press Alt-Enter or Ctrl-J for a new line. A pasted text is never sent by itself; press Enter when it is ready.
{What happens when I paste|Why is my pasted text folded|What happens with a long paste}? => A paste is never sent by itself. A paste of eight or more lines is folded into a placeholder.
{How do I|How can I} copy {a code block|the code|code from an answer}? => Each code block has a number: /copy N copies it.
{How do I|How can I} stop {you|the answer|the model|this}? => Press Esc. /continue goes on with the answer later.
{How do I|How can I} {see the help|get more help|learn the keys}? => Press F1 or type /help.
{Where is the history|Where are my typed lines stored|Where is the input history}? => In the state directory, XDG_STATE_HOME. Ctrl-R searches it.
{Where is the config file|Where is the configuration|How do I set defaults|Can I keep my settings|Is there a config file}? => In your config directory, XDG_CONFIG_HOME. It can set any option, and flags on the command line win.
{What format are the chats stored in|How are chats stored|Which database is used|What database does it use}? => A SQLite database, chats.db.
{Can I delete my data|How do I delete everything|How do I remove all chats}? => /delete removes a conversation, bitnet-chat delete ID does it from the shell, and all chats are in the file chats.db.
{What happens if the power fails|Is my text lost in a crash|What happens in a crash}? => Your message is stored before the model starts, and the answer is stored in small pieces, so almost nothing is lost.
{Which formats can I export to|What export formats are there|Can I export to JSON|Can I export to Markdown}? => md, json and openai: /export md FILE, for example.
{What is a branch|What are branches|What is a fork|How do branches work}? => A conversation is a tree. /fork starts a new branch at a message, /branches lists them, and /goto N jumps to message N.
{What is the difference between /undo and /regen|When do I use undo instead of regen}? => /undo takes back your message and the answer; /regen only writes a new answer.
{What is the difference between temperature and top-p|Is temperature the same as top-p}? => The temperature changes how bold all choices are; top-p cuts off the unlikely tokens.
{What temperature should I use|What is a good temperature|Which temperature is best}? => About 0.7 is a good start: lower for facts, higher for stories. /set temp 0.7 sets it.
{What is a good value for top-p|What top-p should I use}? => 0.9 or 0.95 is usual.
{What range can the temperature have|Can the temperature be negative|What values can I set}? => Values are checked: a negative or senseless value is refused, and /set shows the default of each.
{Why do I get the same answer every time|Why are the answers always the same}? => Then the temperature is 0 or the seed is fixed. Try /set temp 0.8 and another /seed.
{Why is the answer cut off|Why did you stop in the middle|Why did the answer stop}? => Perhaps max_tokens was reached. /continue goes on, and /set max_tokens allows longer answers.
{What does max_tokens do|What is max_tokens|What does -n do}? => It limits how many tokens an answer may have.
{What does --script do|How do scripts work|How do I write a script|What is a script}? => A script has one line for each message or command. Lines with @ wait or check, for example @wait idle or @expect /text/. Run it with --script FILE.
{What does @expect do|What is @expect}? => It checks that the screen or the answer matches a pattern. If not, the script ends with exit code 3.
{What does @wait do|What is @wait}? => It waits until the model is idle, or until a pattern appears.
{What does @key do|What is @key}? => It presses a key in a script, for example @key Esc.
{What does @screenshot do|What is @screenshot}? => It writes the screen to a file.
{What does @resize do|What is @resize}? => It changes the size of the screen, for example @resize 80x24.
{How do I write a comment in a script|What does # mean in a script}? => A line that begins with # is a comment.
{How do I write a block in a script|How do I put several lines into a script message}? => Three quotation marks open a block and three close it.
{What are the exit codes|What exit codes are there|Which exit codes does it have}? => 0 is fine, 1 a runtime error, 2 wrong usage, 3 a failed expectation or replay, 4 a model that cannot be loaded, 5 no usable device, 6 a database error.
{What does exit code $n mean|What is exit code $n|Why do I get exit code $n}? => $m
{What does replay do|What is a replay|How does replay work}? => It shows a stored conversation again, token by token. With --verify the model runs again and the tokens are compared.
{What is a cast file|What is asciicast|How do I record the screen|What does --record write}? => /record FILE writes an asciicast file, a recording of the terminal that can be played back.
{What is private mode|What does private mean|How does private mode work}? => In private mode nothing is stored. /private switches it on, and the status line shows it.
{Which devices can it use|Can it use my NVIDIA card|Does it run on AMD|Does it run on Intel|Can it run on the CPU}? => Any device with Vulkan, and the CPU with --device cpu. bitnet-chat devices lists what there is.
{How do I choose the graphics card|How do I select a GPU|It uses the wrong GPU}? => Use --device with its number or name. bitnet-chat devices shows the list.
{The model does not load|Why does my model not load|It cannot load the model|What models can I not load}? => bitnet-chat loads BitNet models in GGUF files. bitnet-chat info MODEL says what a file holds.
{Does it support colour|How do I turn off the colours|I don't want colours}? => Use --no-color, or set the variable NO_COLOR.
{What is the license|Under which licence is it|May I use it freely}? => The GNU GPL, version 3 or later.
{How do I undo two messages|Can I undo several times}? => Type /undo twice. /redo brings them back.
{What does reused tokens mean|What does reused N of M tokens mean|Why does it say reused}? => The beginning of the text was already in the KV cache, so only the rest had to be read.
{How do I make a long chat shorter|The chat is too long|My context is nearly full}? => /compact makes it shorter, /undo takes turns back, and /new starts a new one.
{How big is the context|How long is your context|How many tokens can you read|How much can you remember}? => My context holds 1024 tokens, about 700 words. Microsoft's model has 4096.
{How big is Microsoft's model|How large is the 2B model|How many weights does the Microsoft model have}? => About two billion ternary weights, in a file of about 1.2 GB.
{Are you the same as Microsoft's model|Are you from Microsoft|Are you Microsoft's BitNet}? => No. I am a tiny model that was trained for bitnet-chat; Microsoft's BitNet has two billion weights.
{Which file do I have to download|What is the name of the model file|Which GGUF file do I need|Where is the model file}? => ggml-model-i2_s.gguf, from microsoft/bitnet-b1.58-2B-4T-gguf on Hugging Face.
{How many layers do you have|What is your architecture|How are you built inside|What does your network look like}? => I have 8 layers, 512 numbers wide, with 8 heads, and all their matrices are ternary.
{How big is your vocabulary|How many tokens do you know|What tokenizer do you have}? => I know 8192 tokens, made by byte pair encoding.
{Why are ternary weights good|What is good about BitNet|What are the advantages of BitNet|Why use BitNet}? => They need little memory and little energy, because multiplying becomes adding, and the model still answers well.
{What does -1, 0 or +1 mean|Why only three values}? => Each weight can subtract, ignore or add its input. That is enough if a model is trained that way.
{Can I talk to you by voice|Do you have a voice|Can you speak aloud}? => No, I only read and write text.
{What can the slash commands do|What are slash commands|How do commands work}? => They start with a slash and control the program, for example /new or /set. /help lists them all.
{I made a mistake in my message|I made a typo|I sent the wrong message}. => Type /edit to change your last message, or /undo to take it back.
{Your answer was bad|I don't like the answer|That answer is not good|Give me a different answer}. => I am sorry. /regen writes another one, and a higher temperature brings more variety.
{How do I open the last chat|How do I go on where I stopped|Can I continue yesterday's conversation}? => Start with bitnet-chat -c, or use /list and /open ID.
{How do I find something I asked last week|How can I search my old chats}? => /search TEXT looks through all stored conversations.
{What does /show do|What can I see with /show|What is /show}? => /show shows details: /show model, /show params, /show prompt, /show context or /show stats.
{How do I see the probabilities|Why did you choose that word|What else could you have said}? => /alt shows the most likely other tokens with their probabilities, and can go on from one of them.
{How do I give you a role|How do I make you a pirate|Can you play a role}? => Use /system, for example: /system You are a pirate.
{How do I read a file into the chat|Can you read my file|Can you read a document}? => /read FILE puts a text file into your message. But I can only understand simple text.
"""
CODES = {0: "0 means that all went well.", 1: "1 is a runtime error.", 2: "2 means wrong usage: check the options.", 3: "3 means that an expectation failed or a replay differed.", 4: "4 means that the model cannot be loaded.",
         5: "5 means that there is no usable device, or that it was lost.", 6: "6 is an error of the database.", 130: "130 means that it was interrupted with Ctrl-C."}
MANUAL = lines(MANUAL)


def manual(t):
    ask, reply = t.pick(MANUAL)
    n = t.pick(list(CODES))
    return Turn(t.say(ask, n=n), t.say("{" + reply + "}", n=n, m=CODES[n]))
