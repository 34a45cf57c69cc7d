"""bitnet-chat once more, from the user's side: wishes and troubles, messages of the program, Microsoft's model, the terms."""
from .lang import Turn, cap
from .program import ENTRIES
from .smalltalk import lines

# command, key or option | wishes (after "I want to" / "How do I") | troubles (a sentence before "What do I do?") | does (third person, after "Which command")
MORE = """
/help|see everything I can type|learn the commands|get an overview of the commands|look up a command|know what I can type here|list all commands|I don't know any commands|I forgot the name of a command|I am new here|lists all commands|explains the commands|shows everything I can type|gives an overview
/new|start from scratch|begin with an empty chat|forget all this and start again|talk about something new in a fresh chat|have a clean start|begin anew|open an empty conversation|clear the chat|This chat is a mess|I am done with this conversation|I want a fresh start|starts an empty conversation|opens a new chat|begins a fresh conversation|gives me an empty chat
/open ID|return to an earlier conversation|go on with a stored chat|load a conversation from last week|get an old conversation back on the screen|reopen a chat|switch to another conversation|continue a chat of last month|I know the number of an old chat and want to go on with it|There is an old chat that I want to continue|opens a stored chat|brings back an old conversation|loads an earlier chat
/list|see all stored conversations|see which chats I have|get a list of my conversations|look at all my earlier chats|know the number of an old conversation|view my stored chats|I don't know what chats I have|I need the number of a conversation|lists my chats|shows all stored conversations|prints the conversations
/search TEXT|find a word in my old chats|find the conversation about cats|look for a text in everything we said|search through all chats|find where I asked about bread|find an old answer again|I remember a word but not the chat|I once asked about horses and want to find it|We talked about cheese once and I want to see it again|finds words in old chats|searches everything that was said|looks through all conversations
/title TEXT|rename this conversation|give this chat another name|change the name of the chat|set a better title|call this conversation something else|name this chat|The title of the chat is wrong|This chat has a silly name|renames a chat|changes the title|gives the chat a name
/archive|put a conversation away without deleting it|hide an old chat|move a chat out of the list|keep a chat but not see it|The list is too long, but I don't want to delete anything|puts a chat away|hides a conversation
/delete|erase a conversation for ever|throw a chat away|get rid of this chat|remove a stored chat|destroy this conversation|delete all of this talk|Nobody should ever read this chat|I don't need this conversation any more|This chat should be gone for good|deletes a chat|removes a conversation for good|erases a chat
/regen|get a different answer|have you answer once more|get a second answer to the same question|let you try again|replace a bad answer|get another version of the answer|I don't like that answer|The answer is bad|Your last answer was nonsense|The answer was not good enough|I want you to try again|makes another answer|gives a new answer to the last question|tries the answer again
/undo|take my last turn back|go back one step|remove my last question and your answer|step back|make the last turn undone|get rid of the last turn|revoke my last message|I didn't mean to send that|I sent something by mistake|The last turn was a mistake|takes back the last turn|goes back one turn|removes the last turn
/redo|bring back what I took away with undo|get the undone turn back|cancel an undo|restore the turn I just undid|revert the undo|I undid one turn too many|I typed /undo by mistake|I want the undone message back after all|brings back an undone turn|cancels the undo|repeats what undo took away
/edit|change the question I just sent|correct my last message|fix a mistake in my message|rewrite my last question|reword what I just asked|There is a mistake in my last message|I misspelled a word in my question|I asked it in the wrong words|My message had an error|changes my last message|lets me correct my message
/continue|let you go on where you stopped|have the rest of the answer|finish a cut answer|go on with a broken answer|get the end of the answer|make the answer longer after it stopped|The answer was cut|You stopped in the middle of a sentence|The answer is not finished|Your answer has no end|goes on with the answer|finishes a stopped answer|continues the last answer
/fork|try another direction and keep this one|make a branch of the conversation|go two ways from here|copy the chat from this point|explore something else without losing this|split the conversation here|I want to try something else but keep this chat|I want two versions of this chat|makes a branch|splits the conversation
/branches|see the branches of this chat|list all branches|know how many branches there are|find my other branch|I made a fork and want to see both ways|lists the branches|shows the branches
/goto N|jump to an earlier turn|go back to turn five|move to message two|return to an earlier point of this chat|go to another place in the conversation|I want to be back at an earlier message|jumps to a turn|goes back to an earlier message
/set|change a setting|change the temperature|make you more creative|see what can be set|set top-p|change top-k while we chat|make the answers more random|set the repeat penalty|allow longer answers|look at the settings|Your answers are always the same|The answers are too wild|I want more surprising answers|changes a setting|shows the settings|sets the temperature
/reset|put all settings back|restore the settings from the start|undo all my changes of the settings|get the default settings|have the normal settings again|I changed too many settings|The settings are a mess|Since I changed the settings the answers are odd|resets the settings|puts the settings back to the start|restores the defaults
/seed N|choose the seed|fix the seed|get the same answer again|change the random seed|make the answers repeatable|set the seed to 42|I want the same answer every time|sets the seed|changes the seed
/system TEXT|give you a role|tell you how to behave|set the system prompt|make you talk like a pirate|change the system prompt|see the system prompt|make you a teacher|remove the system prompt|empty the system prompt|delete the system prompt|get rid of the role|I want you to play a part|You should answer differently from now on|The system prompt is wrong|sets the system prompt|shows the system prompt|changes your role
/show prompt|see exactly what the model reads|see the text that goes into the model|look at the real prompt|view the prompt with all special tokens|know what is really sent to the model|I wonder what you really get to read|shows the exact prompt|prints what the model reads
/show context|see how much room is left|know how many tokens are used|check how full the context is|find out how much of the context is left|see how long this chat is in tokens|I am afraid the context is full|I want to know how much space is left|shows the used context|tells how full the context is
/show model|know which model is running|see the loaded model|get information about the model|find out the model's name and size|see what model I talk to|I forgot which model I loaded|shows the loaded model|tells which model it is
/show params|see the sampler settings|look at temperature and top-p|know the current settings|view all parameters|shows the parameters|prints the sampling settings
/show stats|see the speed of the last answer|know the tokens per second|look at the statistics|see how long the answer took|find out how fast you are|You seem slow and I want to see how slow|shows the speed|prints the statistics
/tokens|see the tokens of the answer|look at the pieces of a text|see how my text is cut into tokens|view the token ids|know which tokens you made|shows the tokens|lists the tokens of the answer
/alt|see which other words were likely|see the other candidates|look at the probabilities of words|know what else you could have said|see the second best words|choose another word in the answer|I wonder why you chose that word|shows the other candidates|lists likely alternatives|shows probabilities of other words
/read FILE|put a text file into my message|let you read a file|load the text of a file|show you a file|insert a file|use a text file as my question|I have a text file that you should see|reads a file|puts a file into the message
/copy|copy the last answer|put your answer into the clipboard|copy the code|take the answer into another program|get the answer out of here|I want to paste your answer into a letter|copies the answer|puts the answer into the clipboard
/export FMT FILE|save this chat to a file|write the conversation into a file|get the chat as Markdown|keep a copy of the chat on disk|make a JSON file of this talk|send this chat to a friend as a file|I want to have this chat as a text file|writes the chat to a file|saves the conversation as a file|exports a chat
/import FILE|load a chat from a file|bring an exported chat back|get a conversation out of a file|read in a chat that a friend sent|put a saved conversation into the program|I have a chat in a file and want it here|imports a chat|loads a conversation from a file
/compact|make room in the context|shorten the conversation|go on although the context is full|free some tokens|get more space for the talk|The context is full|The program says that the context is full|There is no room left in the chat|The conversation got too long|makes the conversation shorter|makes room again
/record FILE|record the screen|make a recording of our chat|film this session|save the session as a cast|record what happens on the screen|I want to show others how we chat|records the session|makes a recording
/replay ID|watch an old conversation again|see an old chat as it was written|play a stored conversation|view a chat like a film|see an answer being written again|replays a chat|plays an old conversation
/private|chat without leaving traces|keep this chat off the disk|have nothing stored|talk in secret|switch off the storing|Nobody should find this chat on my disk|I don't want this chat to be stored|switches storing off|makes the chat private
/quit|leave the program|stop the program|get out of here|end the chat program|close everything|exit the program|say goodbye and close|I am done and want to close the program|I want to go home|ends the program|closes bitnet-chat|leaves the program
Enter|send my message|submit what I typed|hand over my question|send the line|I typed a question, but nothing happens|sends the message|sends what I typed|submits my question
Alt-Enter or Ctrl-J|make a new line without sending|write a message of several lines|add a line break|go to the next line in my message|write a poem of four lines into the input|I want to write two paragraphs|makes a new line|adds a line without sending
Esc|stop an answer|interrupt you|stop you while you write|cut your answer off|make you be quiet|halt the answer|abort the answer that is running|The answer is too long|You write and write|You don't stop talking|stops the answer|interrupts the model|stops you
Ctrl-C|clear what I typed|throw the input away|cancel with the keyboard|empty the input line|I typed nonsense and want to clear the line|clears the input|empties the line
Ctrl-D|leave with one key|end the program by a key|quit from an empty line|close the program with the keyboard|ends the program|quits on an empty line
Ctrl-R|find a line I typed before|search my input history|bring back an old question of mine|reuse something I typed|I typed a long question yesterday and need it again|searches the history|finds earlier input
Ctrl-X Ctrl-E|write my message in my editor|open an editor for a long message|edit the input in vim|use a real editor|My message is very long and I need an editor|opens the editor|starts my editor
Tab|complete a command|have a command finished for me|complete a file name|let the program finish the word|type less|I don't want to type the whole command|completes a command|finishes a word for me|completes file names
PgUp|scroll up|see what was said before|read earlier text|go back in the text on the screen|look at the beginning of the chat|see older lines|The text I want to read has gone off the top of the screen|scrolls up|shows earlier lines|moves the text up
Ctrl-F|find a word on the screen|search in the transcript|look for text in this chat on the screen|find something in the text above|I want to find a word in this long chat|finds text on the screen|searches in the transcript
Ctrl-L|redraw the screen|repair the picture on the screen|clean up a broken screen|draw everything anew|The screen looks strange|There are odd characters on the screen|The screen is broken|redraws the screen|repairs the screen
Ctrl-Z|put the program into the background|suspend the program|get back to the shell for a moment|pause the program|I need the shell for a minute|suspends the program|puts the program to sleep
F1|see the help with a key|see all keys|read about the keys|know the keys|find the list of keys|get a list of the keyboard shortcuts|I don't know the keys|shows the keys|opens the help|explains all keys
--device|choose the device at the start|run on the CPU|start without a GPU|use my second graphics card|pick a GPU|run it on the processor only|The program uses the wrong graphics card|I have no graphics card|chooses the device|selects the GPU|runs it on the CPU
--ctx|have a larger context|start with more context|set the context length|give the model more room|make the context smaller|I need room for long texts|sets the context size|gives a larger context
--seed|start with a fixed seed|give the seed on the command line|get the same answers in every run|sets the seed at the start
--temp|start with another temperature|set the temperature on the command line|start greedily|sets the temperature at the start
--top-k|set top-k at the start|choose only among the 40 best tokens|limits the choice to the k likeliest tokens
--top-p|set top-p at the start|cut off unlikely tokens on the command line|limits the choice by probability
--min-p|set min-p at the start|drop tokens far less likely than the best|drops unlikely tokens
--repeat-penalty|stop the model from saying the same again|punish repetitions|avoid repeated words|The model repeats itself|makes repeated words less likely
-n or --max-tokens|limit the length of the answers|get short answers only|set the number of tokens of an answer|keep answers from getting long|allow at most 100 tokens|The answers are too long|limits the answer's length|sets the most tokens of an answer
--stop|end an answer at a certain text|set a stop word|stop when a word appears|ends an answer where a text appears|sets a stop text
--system|start with a system prompt|give a role on the command line|read the system prompt from a file|load a system prompt at the start|sets the system prompt at the start|reads the system prompt from a file
--private|start so that nothing is kept|keep nothing from the start|start a chat that is not stored|stores nothing|keeps nothing
--db|use another database file|keep my chats in another file|choose the place of the database|store the conversations elsewhere|chooses the database|uses another file for the chats
--no-color|switch off the colours|have no colours|get plain text without colours|The colours hurt my eyes|I can't read the colours|turns the colours off|switches off colours
--verbose|see more about each answer|get more messages|know what the program does inside|says more about what lies behind each answer|prints details
--script FILE|run a script|play a file of commands|automate a session|let the program read my lines from a file|test the program with a file|I have written a script file|runs a script|plays a scripted session
--output jsonl|get JSON output|have one JSON object a line|read the output with another program|get output for a script|make the output machine readable|writes JSON|gives jsonl output
-p|ask one question from the shell|get a single answer and end|use it in a shell script|get only the answer on standard output|ask without opening the chat|I need one answer in a shell script|asks one question|gives one answer and ends
-c|go on with the last conversation when I start|continue where I stopped yesterday|start with my last chat|resume the latest conversation|I closed the program and want to go on|continues the last conversation|goes on with the last chat
--resume ID|start with a certain old chat|resume an old conversation from the shell|go on with conversation 12 at the start|resumes a certain conversation
bitnet-chat devices|see which GPUs could run it|list my devices|know which graphics cards are found|find out if my GPU works|see what could run a model|I don't know which graphics cards I have|lists the devices|shows the usable GPUs
bitnet-chat info MODEL|look into a model file|see what a GGUF file holds|inspect a GGUF|know the size and the layers of a model file|I have a GGUF file and don't know what is in it|shows what a model file holds|describes a GGUF file
bitnet-chat bench MODEL|measure the speed|benchmark the engine|see how many tokens per second my computer makes|test how fast the model runs|compare the speed of two machines|I want to know how fast my computer is|measures the speed|runs a benchmark
bitnet-chat tokenize MODEL|turn text into token ids in the shell|count the tokens of a text|split a text into tokens|see the ids of a text|turns text into tokens|splits text into tokens
bitnet-chat detokenize MODEL|turn token ids back into text|read ids as text|turns tokens into text
bitnet-chat render MODEL|see the prompt that the template makes|render messages with the chat template|makes the prompt from messages
bitnet-chat logits MODEL|get the logits of tokens|write the logits to a file|compare the numbers of two engines|writes the logits to a file
bitnet-chat probe MODEL|see the numbers after each layer|look at the residual stream|writes the residual stream
bitnet-chat list|list my chats in the shell|see my conversations without opening the chat|lists the chats in the shell
bitnet-chat show ID|print an old conversation in the shell|prints a stored conversation
bitnet-chat search TEXT|search my chats from the shell|searches chats from the shell
bitnet-chat export ID|write an old chat to a file from the shell|exports a chat from the shell
bitnet-chat delete ID|delete a conversation from the shell|deletes a chat from the shell
bitnet-chat replay ID|replay a chat from the shell|check that a chat can be made again|replays a chat from the shell
"""
DOES = {}
for name, _, does, kind in ENTRIES:
    DOES[name] = (does, kind)
EXTRA = {"Alt-Enter or Ctrl-J": ("starts a new line without sending", "key"), "-n or --max-tokens": ("limits how many tokens an answer may have", "option"), "--script FILE": ("runs a script of messages and commands", "option"), "--output jsonl": ("writes one JSON object a line", "option"), "--resume ID": ("continues the conversation with that id", "option"),
         "bitnet-chat render MODEL": ("shows the prompt exactly as the template makes it", "call"), "bitnet-chat logits MODEL": ("writes the logits of given tokens to a file", "call"), "bitnet-chat probe MODEL": ("writes the residual stream after each block", "call")}
ROWS = []
for line in MORE.strip().splitlines():
    name, *parts = line.split("|")
    does, kind = EXTRA.get(name) or DOES[name]
    wishes = [p for p in parts if p[0].islower() and not p.split()[0].endswith("s")]
    third = [p for p in parts if p[0].islower() and p.split()[0].endswith("s")]
    ROWS.append((name, does, kind, wishes, [p for p in parts if p[0].isupper()], third))
WANT = {"command": "{Which|What} command|What do I type|What must I type|What should I type|Which slash command", "key": "{Which|What} key|Which button|What do I press|What key|Which keys", "option": "{Which|What} option|Which flag|What flag|Which switch", "call": "{Which|What} command|Which subcommand|What do I type in the shell"}
GIVE = {"command": "{Type $n. It $d.|Use $n: it $d.|With $n. It $d.|$n does that. It $d.}", "key": "{Press $n. It $d.|Use $n: it $d.|The key $n does that. It $d.}", "option": "{Start bitnet-chat with $n. It $d.|Use the option $n. It $d.}", "call": "{Run $n in the shell. It $d.|Use $n. It $d.}"}


def wish(t):
    name, does, kind, wishes, troubles, third = t.pick(ROWS)
    r = t.rng.random()
    slots = dict(n=name, d=does)
    if troubles and r < 0.22:
        s = t.pick(troubles)
        k = {"command": "{Which command helps|What do I type|What can I type|Which command do I need|What should I do|What now|What can I do|How do I solve that}", "key": "{Which key helps|What do I press|Which key do I need|What can I do|What now|What should I do}"}.get(kind, "{Which option helps|What can I do|Is there an option for that|What should I do|What do I need}")
        return Turn(s + t.pick([". ", ". ", ". ", ", "]) + (t.say(k) if s else "") + "?" if t.chance(0.85) else s + ".", t.say(GIVE[kind], **slots), keep=(name,), short=name)
    if third and r < 0.45:
        d = t.pick(third)
        ask = {"command": "{{Which|What} command $d?|What is the command {called |}that $d?|Is there a command {that|which} $d?|{Tell me|I need|Name} the command {that|which} $d.|{Which|What} slash command $d?|What do I type so that it $d?}", "key": "{{Which|What} key $d?|What is the key that $d?|Is there a key that $d?|{Tell me|I need} the key that $d.|{Which|What} button $d?|By which key can I do this: it $d?}", "option": "{{Which|What} option $d?|Is there an option that $d?|{Which|What} flag $d?|{Tell me|I need} the option that $d.|What is the option called that $d?}",
               "call": "{{Which|What} command $d?|Is there a command that $d?|{Which|What} subcommand $d?|What do I run in the shell that $d?}"}[kind]
        return Turn(cap(t.say(ask, d=d)), t.say(GIVE[kind], **slots), keep=(name,), short=name)
    if r < 0.6:  # from the name to what it does
        bare = {"call": " ".join(name.split()[:2])}.get(kind, name if name.startswith("/show") else name.split()[0] if kind != "key" else name)
        if kind == "option" and t.chance(0.2) and bare.startswith("--"):
            bare = t.pick([bare, bare[2:]])
        what = {"command": "{|the command |the slash command |typing }", "key": "{|the key |pressing }", "option": "{|the option |the flag |the switch }", "call": "{|the command |the subcommand |running }"}[kind]
        noun = t.say(what)
        b = noun + bare
        ask = t.say("{What does $b {do|mean|give me|change|show me}?|What is $b {good |}for?|What's {the use|the point|the purpose|the effect} of $b?|Explain $b{| to me}{.|, please.}|What happens {with|after|through} $b?|What happens {if|when} I {use|enter|try} $c?|When {do|would|should} I use $c?|What can I do with $c?|Why would I {use|need} $c?|How does $b work?|What do I need $c for?|Tell me about $b.|Describe $b.|I saw $c. What is it?|Can you explain $b?|$C?|What do I get {from|with} $c?}" if not noun.endswith("ing ") else "{What does $b do?|What happens {through|by|after} $b?|What is $b good for?|What is the effect of $b?}", b=b, c=bare, C=bare)
        if kind == "key":
            ask = t.say("{What does $c do?|What does {the key |}$c do {here|in bitnet-chat|in the chat}?|What happens {if|when} I {press|hit|use|type} $c?|What is $c {good |}for?|What do I get with $c?|Explain the key $c.|What is the key $c for?|Why would I press $c?}", c=bare)
        return Turn(ask, t.say("{$b $d.|It $d.|With $b: it $d.|$b $d.}", b=bare, d=does), keep=(bare,))
    if not wishes:
        return None
    w = t.pick(wishes)
    t.chance(0)  # not used any more; the draw stays, so that the corpus stays the same
    ask = t.pick(["{How do I|How can I|How could I|How would I|How do you|How does one|How to|How might I|In what way can I|What do I do to|What must I do to|What is the way to|What should I do to|Is there a way to|Is it possible to|Can I|Could I} $w?"] * 4 + ["{I want to|I would like to|I'd like to|I wish to|I need to|Please help me to|Help me to|Tell me how to|Show me how to|Explain how to|I am trying to} $w{.|. How?|. How do I do that?|. What do I do?}"] * 3
                 + ["{" + WANT[kind] + "} {do I use to|lets me|is there to|do I need to|can I use to|is for when I want to} $w?" if kind in ("command", "key", "option") and t.chance(0.7) else "{" + WANT[kind] + "} {to|in order to|if I want to|when I want to} $w?"] * 3)
    ask = t.say(ask, w=w)
    for a in ("What do I type", "What must I type", "What should I type", "What do I press", "What do I type in the shell"):
        for b in (" do I use to", " lets me", " is there to", " do I need to", " can I use to", " is for when I want to"):
            ask = ask.replace(a + b, a + " to")
    return Turn(cap(ask), t.say(GIVE[kind], **slots), keep=(name,), short=name)


MESSAGES = """
{What does $m mean|What is the meaning of $m|Why does it say $m|It says $m. What does that mean|I see the message $m. What now|The program told me $m. Why|I got $m. What is wrong|What should I do when it says $m|Why do I get $m|The screen shows $m. What is that|What does the message $m tell me|Explain the message $m|$m - what is that|What did I do wrong? It says $m|What happened? It says $m}[?]
"""
MESSAGE_ROWS = [l.split(" => ") for l in """
"there is no command $x; did you mean $y?"|"there is no command $x"|"no command $x; /help lists them"|there is no command => You mistyped a command. The name must be exact; /help lists the commands.|That command does not exist, so it is a typing mistake. /help lists all commands.
"The model is still loading"|"this turn starts when it is there"|"model is loading"|still loading|"loading ..." => The model is being loaded. Wait a moment: your turn starts when it is there.|Just wait: the model is still being read into memory, and your turn starts by itself.
"interrupted"|interrupted|(interrupted)|"interrupted" under the answer => The answer was stopped with Esc or Ctrl-C. /continue goes on with it.|Somebody stopped the answer, for example with Esc. What was written is kept.
"no model given and no bundled one found"|"no model given"|no bundled model found => The program found no model file. Give one: bitnet-chat MODEL.gguf.|Name a model file when you start: bitnet-chat MODEL.gguf.
"the context is full"|context full|"no room in the context"|"$n of $n tokens used"|the context limit => The conversation has no room left in the context. Use /compact, /undo or /new.|All tokens of the context are used. /compact makes room, /new starts afresh.
"reused $n of $k tokens"|reused tokens|"reused $n tokens" => These tokens were already in the KV cache, so only the new ones had to be computed. It saves work.|The beginning was still in the cache from before, so only the rest was computed.
"the device was lost"|device lost|"the device was lost twice in a row"|a lost device => The graphics card stopped answering, perhaps a driver problem. The program tries again; --device cpu works without it.|The GPU or its driver gave up. Try again, or use --device cpu.
"wanted 0 to 100, found $n"|"wanted a whole number"|"there is no setting '$w'"|a refused value => The value of a setting was not allowed, or the name is wrong. /set shows what each one takes.|That value or name is not valid. /set lists the settings and their ranges.
"there is no conversation $n"|no such conversation|"wanted a conversation's number" => No stored conversation has that number. /list shows the numbers.|That number is wrong: /list shows all conversations.
"an answer is being made"|"$y has to wait" => The model is still answering. Wait until it is done, or stop it with Esc.|You must wait for the answer first, or press Esc.
"$y takes no arguments" => You typed something after a command that stands alone. Type only the command.|That command wants nothing behind it.
"Not sent"|not sent => Your message was not sent; the text behind it says why, for example that it is too long.|The message was too long or could not be stored, so it was not sent.
"cannot be read"|"file cannot be read" => The file does not exist or may not be read. Check the name.|Check the file name: the program could not open it.
"there is no key"|unknown key => A script named a key that does not exist. Check the name of the key.
"a newer database"|database too new => The database was written by a newer bitnet-chat. Use the newer program or another --db.
"press again to quit" => You pressed Ctrl-C. Pressing it once more ends the program.
"N new lines"|new lines => You have scrolled up and new text has come below. PgDn brings you to the end.
the status line|the numbers in the status line|the line at the bottom|the bar below => It shows the model, the device, the state, the speed in tokens per second and how much of the context is used.|The model, the device, the speed in tokens per second, and the tokens of context that are used.
unsaved|"unsaved"|the private mark => This conversation is not stored, because private mode is on.
exit code 0|code 0|return code 0 => 0 means that all went well.
exit code 1|code 1|status 1|return code 1 => 1 is a runtime error.
exit code 2|code 2|status 2|return code 2 => 2 means wrong usage: check the options.
exit code 3|code 3|status 3|return code 3 => 3 means that an expectation of a script or a replay did not match.
exit code 4|code 4|status 4|return code 4 => 4 means that the model cannot be loaded. Check the file.
exit code 5|code 5|status 5|return code 5 => 5 means that there is no usable device, or that the device was lost.
exit code 6|code 6|status 6|return code 6 => 6 is an error of the database.
exit code 130|code 130 => 130 means that it was interrupted with Ctrl-C.
""".strip().splitlines()]


def message(t):
    names, reply = t.pick(MESSAGE_ROWS[:19] * 2 + MESSAGE_ROWS)
    n = t.rng.randrange(2, 900)
    m = t.say(t.pick(names.split("|")), x="/" + t.pick(["hepl", "nwe", "serch", "quitt", "sett", "udno", "lsit", "opne", "regenn", "foo", "exprot"]), y=t.pick(["/help", "/new", "/search", "/quit", "/undo", "/list", "/open", "/regen"]), n=n, k=n + t.rng.randrange(1, 60), w=t.pick(["tmp", "topk", "heat", "speed"]))
    if "code" in m or "status " in m[:8]:
        ask = t.say("{What does $m mean?|What is $m?|The program {ends|ended|exits|exited|stopped} with $m. {Why|What does that mean|What happened|What is that}?|Why do I get $m?|bitnet-chat returned $m. What is wrong?|My script got $m. What is it?|What's the meaning of $m?|Explain $m.}", m=m)
    else:
        ask = t.say(MESSAGES.strip().replace("[?]", ""), m=m)
        ask += "?" if not ask.startswith(("Explain",)) else "."
        ask = ask.replace("line mean?", "line mean?")
    return Turn(cap(ask), t.say("{" + reply + "}"), keep=tuple(m.split()))


TERMS = """
{Where|From where|On which site|How} {can|do|could} I {get|download|find|fetch} {the real model|Microsoft's model|the big model|the real BitNet|the BitNet model|the large model|a better model|the 2B model|the model file|Microsoft's BitNet}? => From Hugging Face: microsoft/bitnet-b1.58-2B-4T-gguf, the file ggml-model-i2_s.gguf.|On Hugging Face. curl -LO https://huggingface.co/microsoft/bitnet-b1.58-2B-4T-gguf/resolve/main/ggml-model-i2_s.gguf fetches it.
{How big|How large|How heavy|What size} is {the file|Microsoft's model|the download|the big model|Microsoft's file|the 2B model|the model file|the real model|ggml-model-i2_s.gguf}{| on disk| to download}? => The file has 1.19 GB.|It is 1.19 GB.
{How long|How many gigabytes|How much space} {is|does|takes} {the download|Microsoft's model|the big model|the model} {take|need|on my disk|}? => The file has 1.19 GB.|It needs 1.19 GB.
{Which|What} model {should I use|do you recommend|is better|is the best|do I take|is good} {for real work|for serious things|for real questions|for my work|for better answers|if I need good answers|for long texts|for daily use|instead of you}? => Microsoft's BitNet b1.58 2B4T: the file ggml-model-i2_s.gguf with two billion weights.|Take Microsoft's model with two billion weights. I am only a demonstration.
{Do I have to|Must I|Should I|Do I need to} {convert|change|unpack|prepare|quantise|compile} {the file|Microsoft's file|the model|the big model|the GGUF|it}{| first| before I use it}? => No, nothing needs to be converted. bitnet-chat reads the file as it is.|No. The file works as it is.
{How do I|How can I|How would I} {start|use|run|load|open|chat with} {Microsoft's model|the big model|the other model|the downloaded file|a GGUF file|my own model|another model|the 2B model|ggml-model-i2_s.gguf}? => Name the file when you start: bitnet-chat ggml-model-i2_s.gguf.|Give the path of the file: bitnet-chat ggml-model-i2_s.gguf
{How many} {weights|parameters|billion weights} {has|does|are in} {Microsoft's model|the big model|the 2B model|the real BitNet|the model of Microsoft}{ have|}? => About two billion parameters.|About 2 billion, nearly all of them ternary.
{What is|What's|Tell me} {the name of|the file name of} {the model file|Microsoft's file|the file I need|the file to download|the big model}? => ggml-model-i2_s.gguf.|The file is called ggml-model-i2_s.gguf.
{Is|Are} {Microsoft's model|the big model|the 2B model|the real BitNet|the other model} {better|smarter|larger|cleverer|stronger|more useful|more clever} than {you|this one|the bundled one|Bit}? => Yes, much. It has two billion weights, I have 22 million.|Yes, it is about a hundred times larger and much better.
{Can|May|Could} I {use|have|keep|load|switch between} {both|both models|you and Microsoft's model|two models|several models|another model|other models}? => Yes. Name the file of the model that you want when you start.|Yes: without a name I am started, with a file name that model.
{How|How can I|How do I} {check|make sure|verify|know|find out} that the {download|file|model|GGUF} is {complete|right|good|not damaged|correct|whole}? => Compare its sha256 checksum: it begins with 4221b252 and ends with 92884162. The size is 1.19 GB.|By its sha256 sum, which the README names.
{Is|Are} {the model|Microsoft's model|you|the bundled model|the file} {included|in the repository|bundled|part of the program|already there}? => I am included. Microsoft's model must be downloaded.|The small bundled model is included; the big one must be downloaded.
{What is|What's|Explain|Tell me about|Describe|What do you mean by} {BitNet|BitNet b1.58|a BitNet model|this BitNet thing|the idea of BitNet}{?| in simple words.| in short.| to a beginner.} => BitNet is a kind of language model whose weights are only -1, 0 or +1, so it needs little memory and energy.|A language model with ternary weights: each one is -1, 0 or +1.
{What does|What's the meaning of|What is meant by} {1.58|1.58 bits|b1.58|the number 1.58|the b1.58 in the name}{ mean| stand for|}? => Three values, -1, 0 and +1, hold log2(3) bits each, and that is about 1.58.|It is the number of bits in a choice among three values: about 1.58.
{What are|What is|Explain|Describe|What do you mean by} {ternary weights|a ternary weight|weights with three values|ternary numbers|a ternary model}? => Weights with only three values: -1, 0 or +1. So a model needs little memory, and multiplying becomes adding.|Each weight is -1, 0 or +1, three values in all.
{Why|What for|For what reason} {three values|three and not two|is there a zero|do you need the zero|not only two values|minus one, zero and one|ternary and not binary}? => The zero lets a weight ignore its input. With three values a model works nearly as well as with full numbers.|With zero a weight can switch an input off, and that helps much.
{Why|How come} {is a ternary model|are ternary models|is a BitNet model|are you|is BitNet} {so small|small on disk|small|so light|cheap to run|fast|so fast}? => Each weight has only three values, so two bits are enough for it instead of sixteen.|Because a weight takes about two bits instead of 16.
{What is|What's|Explain|What does one call|What do you know about|What does} {a KV cache|the KV cache|KV cache|the cache|the key-value cache}{| do| mean| in a model}? => It keeps the keys and values of the tokens that were read, so that they need not be computed again.|A store of keys and values for the text so far: old tokens are not computed again.
{What does|What is|What's|Explain|How does} {temperature|the temperature|the temperature setting|temp|a high temperature|a low temperature}{| do| mean| work}{?| in a language model?| in sampling?} => It says how bold the choice of words is: low is careful, high brings surprise.|A low temperature makes answers safe and alike, a high one makes them random and wild.
{What happens|What do I get|What is the effect|How are the answers} {at|with|if I set|when I use} {temperature 0|a temperature of zero|temperature zero|temp 0}? => The model always takes the likeliest token, so the answer is always the same.|Then the choice is greedy: always the most likely token.
{What happens|What do I get|How are the answers} {at|with|if I set|when I use} {temperature 2|a high temperature|a temperature of 1.5|much temperature}? => The choice becomes random and the text gets wild.|More surprise, and with too much of it nonsense.
{What is|What's|Explain|What does|How does|What do you know about} {top-p|top_p|top p|nucleus sampling}{| do| mean| work}{?| please?} => Only the likeliest tokens that together have the probability p can be chosen.|It keeps the smallest set of likely tokens whose probability reaches p.
{What is|What's|Explain|What does|How does} {top-k|top_k|top k}{| do| mean| work}{?| please?} => Only the k likeliest tokens can be chosen.|It keeps the k best tokens and drops the others.
{What is|What's|Explain|What does|How does} {min-p|min_p|min p}{| do| mean| work| good for}{?| please?} => It drops tokens whose probability is below a share of the best token's.|Tokens that are much less likely than the best one are dropped.
{What is|What's|Explain|What does|How does} {the repeat penalty|a repeat penalty|repeat_penalty|the repetition penalty}{| do| mean| work}{?| please?} => It makes tokens less likely that were just used, so the text does not repeat itself.|Words that were used before become less likely.
{What is|What's|What are|Explain|What do you call} {a token|tokens|a token in a model}{?| exactly?} => A token is a piece of text, often a word or a part of a word.|A piece of a word or a whole word: the unit that a model reads.
{What is|What's|Explain|What does|How does} {a tokenizer|the tokenizer|tokenization}{| do| work}? => It cuts text into tokens, the pieces that a model reads.|It splits a text into tokens and gives each a number.
{What is|What's|Explain|What do you mean by} {a prompt|the prompt|prompting}? => The text that a model is given: your question and what came before.|What the model gets to read before it answers.
{What is|What's|Explain} {a system prompt|the system prompt}? => A text before the conversation that tells the model how to behave. /system sets it.|An instruction for the model, such as its role. /system sets it.
{What is|What's|Explain|How big is|What do you mean by} {the context|the context window|a context window|the context length}? => The text that a model can see at once, counted in tokens. Mine holds 1024 tokens.|It is the room for the conversation: all tokens that the model can look at.
{What is|What's|Explain|What do you mean by|What does} {quantisation|quantization|to quantise|a quantised model}{| mean}? => Storing numbers with fewer bits, so that a model gets smaller and faster.|Rounding the weights to few values, so that they need fewer bits.
{What is|What's|Explain|What do you know about} {Vulkan|the Vulkan API|Vulkan in simple words}? => Vulkan is a way for programs to use graphics cards of all makers.|An interface to the GPU. bitnet-chat computes with it.
{What is|What's|Explain|What is in|What does one do with} {a GGUF file|GGUF|a .gguf file|the GGUF format}? => A file format for language models: it holds the weights, the tokenizer and the settings.|A file with a whole model in it: weights, tokenizer and settings.
{What is|What's|Explain|How does|Describe} {a language model|an LLM|a large language model|a model like you}{| work| in simple words}? => A program that has learned from much text which token comes next.|It predicts the next word from the words before, and so it writes text.
{What is|What's|Explain|What happens in|What does one call} {prefill|the prefill|prefilling}? => The model reads the whole prompt before it writes the first token.|Reading the prompt: all its tokens are computed before the answer begins.
{What is|What's|Explain|What happens in} {decoding|the decode phase|generation}? => The model writes the answer token by token.|One token after another is chosen and written.
{What is|What's|Explain|What does|Why does one use} {a GPU|a graphics card|the GPU}{| do| for models}? => A graphics card: it does very many small calculations at once, so models run fast.|It computes many numbers in parallel, which language models need.
{What is|What's|Explain|How does|Describe} {a neural network|a neural net|an artificial neural network}{| work| in simple words}? => Layers of numbers, called weights, that turn an input into an output and learn from examples.|A program of many weights in layers that learns from examples.
{What is|What's|Explain} {the seed|a seed|a random seed}{| in sampling| for}? => A number that starts the random choices: the same seed gives the same answer.|With the same seed and settings the answer is the same again.
{What is|What's|Explain} {a logit|logits|the logits}? => The scores that the model gives to each possible next token.|Numbers that say how likely each token is to come next.
{What is|What's|Explain} {sampling|a sampler|the sampler}? => The choice of the next token from the probabilities.|It chooses the next token, by temperature, top-k, top-p and min-p.
{What is|What's|Explain} {training|to train a model|training a model|how a model is trained}? => The weights are changed a little again and again until the model predicts the texts well.|The model reads many texts, and its weights are corrected step by step.
{What is|What's|Explain} {a layer|layers|a transformer|attention}{| in a model}? => A model has layers, one after another; attention lets each token look at those before it.|In attention each token looks at the earlier tokens to find what matters.
{Does|Will|Would} {/new|a new conversation|starting anew|/open|quitting|/quit} {delete|destroy|remove|lose|erase} {my chat|my old chat|my conversations|anything|the old one|what we said}? => No, the old conversation stays stored. /list shows it.|No, everything stays stored until you delete it.
{How|How can|How do I|How could} {I |}{begin a message|start a line|write a text|start my question} with a slash{| without a command}? => Type two slashes: // at the beginning sends one slash.|Write // and the line is sent with a single slash.
{Is there|What is|Do you know} {another|an other|a different|a second} {way|name|word|command} {to write|for|instead of} {/quit|/help|/new|/regen}? => /quit is also /bye or /exit, /help is /?, /new is /clear, and /regen is /retry.|Yes: /bye and /exit for /quit, /clear for /new, /retry for /regen, /? for /help.
"""
TERMS = lines(TERMS)


def term(t):
    ask, reply = t.pick(TERMS)
    user = " ".join(t.say(ask).split()).replace(" ?", "?").replace(" .", ".")
    if user[-1] not in ".?":
        user += "?" if not user.startswith(("Explain", "Tell", "Describe")) else "."
    return Turn(user, t.say("{" + reply + "}"), short="No" if reply.startswith("No") else "Yes" if reply.startswith("Yes") else None)


ALL = [(wish, 12), (message, 3), (term, 7)]
