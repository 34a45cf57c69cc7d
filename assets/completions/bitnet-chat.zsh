#compdef bitnet-chat
# zsh completion for bitnet-chat. Made by: bitnet-chat print zsh

_bitnet_chat_list() {
  local -a rows
  rows=(${(f)"$(bitnet-chat list $@ 2>/dev/null | sed -nE 's/[\\:]/\\&/g; s/^ *([0-9]+) +/\1:/p')"})
  _describe conversation rows
}

_bitnet_chat_conversations() { _bitnet_chat_list; }
_bitnet_chat_deleted() { _bitnet_chat_list --deleted; }

# The models that 'bitnet-chat pull' has fetched.
_bitnet_chat_pulled() {
  local models=${XDG_CACHE_HOME:-$HOME/.cache}/bitnet-chat/models/hub
  local -a pulled
  pulled=($models/*/*(N/))
  pulled=(${pulled#$models/})
  compadd "$@" -a pulled
}

# .gguf files and the models that 'bitnet-chat pull' has fetched.
_bitnet_chat_models() {
  local -a names
  names=(${(f)"$(bitnet-chat models --names 2>/dev/null)"})
  _alternative 'files:GGUF file:_files -g "*.gguf"' 'pulled:pulled model:_bitnet_chat_pulled' \
    'names:model:compadd -a names'
}

_bitnet_chat_commands() {
  local -a commands
  commands=(
    'list:list the stored conversations, the latest first'
    'show:print a stored conversation'
    'search:find words in everything that was said'
    'replay:draw a stored conversation again, token by token'
    'export:write a stored conversation to a file'
    'import:store the conversations of a file\: md, json or openai as written by export, or ShareGPT'
    'delete:put stored conversations into the trash for 30 days'
    'undelete:bring a conversation back from the trash'
    'models:list the models that are here and those that can be pulled, with what they take and whether they fit'
    'pull:fetch a model\: a name that '\''models'\'' lists, OWNER/REPO or OWNER/REPO/FILE.gguf of Hugging Face, or a URL; MODEL can then be that name'
    'rm:delete a pulled model, or what came of one that was stopped'
    'info:show what a model file holds'
    'devices:list the devices that could run a model, and whether it fits'
    'tokenize:turn text on standard input into token ids'
    'detokenize:turn token ids on standard input into bytes'
    'render:turn a JSON list of {role, content} on standard input into a prompt'
    'logits:write the logits after every token of --tokens, float32 \[n_tokens, n_vocab\], or after --prompt, \[1, n_vocab\]'
    'probe:write what is inside a model, float32 \[n_layers, n_embd\]\: after --tokens, after --prompt, or for each of many --stimuli'
    'perplexity:measure how well a model predicts a text, in windows of --ctx tokens (512), of which the second half counts'
    'bench:measure the speed of prefill and decode; '\''bench validate'\'' also compares what is computed, stage by stage, with golden values or, where a model has none, with the CPU'\''s plain kernels, and tokens one by one with several together; --json makes it a report for others'
    'plan:show what of a model would lie where, and how fast it would be, before anything is loaded'
    'serve:answer programs on this machine that speak the OpenAI API, until ^C\: /v1/chat/completions, /v1/completions, /v1/models, /tokenize and /detokenize'
    'help:print what --help prints, or what COMMAND --help does'
    'print:print an example config file (config), the man page (man), or completions for bash, zsh or fish'
  )
  _describe command commands
}

_bitnet_chat() {
  local -a common own
  common=(
    '*--models[folder with models, which '\''models'\'' and /model list and which may be given by their names; may be given again]:FOLDER:_files'
    '--device[number or part of a name as '\''devices'\'' lists them, or cpu]:N|NAME|cpu:(cpu 0 1)'
    '--threads[threads for --device cpu, at most as many as the process may use; otherwise one for each core]:N: '
    '--vram[how much of the device'\''s memory to take; weights that do not fit lie in the computer'\''s, where the device reads them at the speed of its link (auto\: what is free, less a margin); '\''plan'\'' shows what comes of it]:SIZE|N%|auto:(auto 2G 4G 50% 75%)'
    '--ram[most of the computer'\''s memory for weights, and with --device cpu for all (otherwise as much as a GPU'\''s driver gives, and with --device cpu all but a margin); what there is no room for is read from the model'\''s file for every token]:SIZE: '
    '--ctx[tokens of context; 0, or without it\: as many as the model was trained for, up to 16384]:N: '
    '--chat-template[Jinja file to use instead of the model'\''s own]:FILE:_files'
    '--expert-trace[write to it which experts each token has\: a line with position, layer and ids for each]:FILE:_files'
    '--i2s-layout[how i2_s weights lie\: in blocks of 128, or of 64 if an ARM build wrote them, or four rows a byte]:128|64|1x4:(128 64 1x4)'
    '--activation[of the feed-forward, if the file is wrong about it; '\''info'\'' prints what is used and why]:relu2|silu:(relu2 silu)'
    '*--steer[add a vector of an .npy file, S times, to the residual stream after layer L, at every position; may be given again]:layer=L,file=F,scale=S: '
    '*--ablate-head[let head H of layer L give zeros; may be given again]:L\:H: '
    '(-p --prompt)'{-p,--prompt}'[ask this question, print the answer and end; text on standard input is added after a blank line (an @FILE is not read\: pipe the file in)]:TEXT: '
    '--keep[let -c and the list of /open have the conversation of -p too, which they leave out otherwise]'
    '--script[run a scripted session; - is standard input]:FILE:_files'
    '--output[what is printed\: text is plain lines; tui the screen, 80x24 if there is no terminal; jsonl one JSON object per line, and each line of standard input is a turn or a command]:text|tui|jsonl:(text tui jsonl)'
    '--system[system prompt, or @FILE to read it from]:TEXT|@FILE: '
    '--persona[who answers\: a system prompt with settings, as /persona lists them; other options win over it]:NAME:(brief coder editor teacher)'
    '(-c --continue)'{-c,--continue}'[continue the last conversation]'
    '--resume[continue that conversation]:ID:_bitnet_chat_conversations'
    '--private[save nothing]'
    '--db[database to keep conversations in]:FILE:_files'
    '--no-titles[do not let the model make titles of new conversations in idle time]'
    '--force[overwrite existing files; record even with --private]'
    '--allow-writes[let a script write anywhere, not only below the folder it is run in]'
    '--kv-cache[disk space for what the model has read of conversations, so that -c continues at once (2048); 0\: none]:MIB: '
    '--no-kv-cache[the same as --kv-cache 0]'
    '--temp[temperature; 0 always takes the likeliest token (0 to 100)]:X: '
    '--top-k[choose among this many of the likeliest tokens (a whole number, 0 = off)]:N: '
    '--top-p[choose among the likeliest tokens that make up this much probability (more than 0, up to 1)]:X: '
    '--min-p[drop tokens less likely than this share of the likeliest one (0 to 1)]:X: '
    '--repeat-penalty[make tokens that were just used less likely; 1 = off (0.01 to 100)]:X: '
    '--repeat-last[how many of the latest tokens repeat_penalty looks at (a whole number, 0 = off)]:N: '
    '--seed[where the random choices begin\: the same seed and settings give the same answer on the same device (a whole number, or '\''random'\'')]:N:(random)'
    '(-n --max-tokens)'{-n,--max-tokens}'[the most tokens of an answer (a whole number, 0 = as many as the context holds)]:N: '
    '--think[let the model think before it answers, if its chat template knows how (on, off, or auto\: as the chat template has it)]:on|off:(on off auto)'
    '--draft[try several tokens at once where the text or a stored answer repeats itself; answers are the same (on or off)]:on|off:(on off)'
    '*--stop[end an answer where this text appears; may be given again]:TEXT: '
    '--no-color[no colours (NO_COLOR does the same)]'
    '--theme[looks\: 16 (the terminal'\''s colours), light, dark or mono]:NAME:(16 light dark mono)'
    '--status[what the status line shows\: full adds how much of the prompt was known already, and right guesses (short or full)]:short|full:(short full)'
    '--record[record what the terminal shows (asciicast v3)]:FILE:_files'
    '--record-input[record what is typed as well, even what the screen does not show]'
    '--mouse[take clicks\: on a code block to copy it, in a list to pick from it; to select text, hold Shift then (Option in iTerm2)]'
    '--keys[file with lines of '\''key = action'\'', for the screen; otherwise bitnet-chat/keys in the config folder]:FILE:_files'
    '--verbose[report how each answer was made]'
    '--config[read this config file instead of the usual one]:FILE:_files'
    '--version[print the version]'
    '(-h --help)'{-h,--help}'[print this help; after a command, the help of that command]'
  )
  local command=${words[(r)(list|show|search|replay|export|import|delete|undelete|models|pull|rm|info|devices|tokenize|detokenize|render|logits|probe|perplexity|bench|plan|serve|help|print)]}
  case $command in
    list)
      own=(
        '--all[also list archived conversations]'
        '--deleted[list the trash, and until when each conversation stays there]'
        '--json[print a JSON list, an object for each; times are milliseconds since 1970]'
      )
      ;;
    show)
      own=(
        '--json[print one JSON object\: the conversation and the branch that is shown]'
        '2:ID:_bitnet_chat_conversations'
      )
      ;;
    search)
      own=(
        '--json[print a JSON list, an object for each message that has the words]'
        '*:TEXT...: '
      )
      ;;
    replay)
      own=(
        '--speed[so many times as fast as it was]:X: '
        '--instant[draw it all at once]'
        '--verify[run the model again and compare the tokens]'
        '--model[file to verify with; otherwise the one that answered]:MODEL:_bitnet_chat_models'
        '2:ID:_bitnet_chat_conversations'
      )
      ;;
    export)
      own=(
        '--format[form of what is written\: md, json or openai (md)]:md|json|openai:(md json openai)'
        '(-o --out)'{-o,--out}'[file to write; otherwise standard output]:FILE:_files'
        '2:ID:_bitnet_chat_conversations'
      )
      ;;
    import)
      own=(
        '2:FILE:_files'
      )
      ;;
    delete)
      own=(
        '--now[delete it for good\: no word of it stays in the database]'
        '*:ID...:_bitnet_chat_conversations'
      )
      ;;
    undelete)
      own=(
        '2:ID:_bitnet_chat_deleted'
      )
      ;;
    models)
      own=(
        '--json[print one JSON object]'
        '--names[print nothing but the names of what is here]'
      )
      ;;
    pull)
      own=(
        '2:NAME:(bitnet-2b4t falcon-e-1b falcon-e-3b bonsai-1.7b bonsai-4b bonsai-8b bonsai-8b-pq2 bonsai-27b bonsai-27b-q2 bonsai2-27b maple-20b maple-20b-tq2)'
      )
      ;;
    rm)
      own=(
        '--yes[do not ask]'
        '2:NAME:_bitnet_chat_pulled'
      )
      ;;
    info)
      own=(
        '2:\[MODEL\]:_bitnet_chat_models'
      )
      ;;
    devices)
      own=(
        '2:\[MODEL\]:_bitnet_chat_models'
      )
      ;;
    tokenize)
      own=(
        '--special[read the text of a special token as that token]'
        '--csv[print commas between the ids, as --tokens takes them]'
        '2:MODEL:_bitnet_chat_models'
      )
      ;;
    detokenize)
      own=(
        '2:MODEL:_bitnet_chat_models'
      )
      ;;
    render)
      own=(
        '2:MODEL:_bitnet_chat_models'
      )
      ;;
    logits)
      own=(
        '--tokens[ids with commas between]:IDS: '
        '--out[.npy file]:FILE:_files'
        '--top[print the K likeliest next tokens as JSON]:K: '
        '--special[read the text of a special token as that token]'
        '--record-model-sha256[also hash the whole model file for the metadata, of which there is none with --tokens]'
        '--prefill[tokens per batch; 1 = one by one]:N: '
        '2:MODEL:_bitnet_chat_models'
      )
      ;;
    probe)
      own=(
        '--tokens[ids with commas between]:IDS: '
        '--stimuli[JSON array of {root, pattern, expected_surface, prompts\: {template\: text}}; the result is \[stimuli, layers, width\]]:FILE:_files'
        '--template[which of the prompts (en_surface_probe)]:NAME\[,NAME\]: '
        '--position[tokens whose values are averaged\: last, root, pattern, prompt_mean, mean or an index (last)]:NAME\[,NAME\]:(last root pattern prompt_mean mean)'
        '--what[what is looked at\: residual (after the block), attention and ffn (what they add to it), qkv, query (after RoPE), heads, input (of attention), or weights (of attention in one layer, \[n_head, n_tokens, n_tokens\]) (residual); several of one prompt are written as OUT_STAGE.npy]:STAGE\[,STAGE\]:(residual attention ffn qkv query heads input weights)'
        '--layers[from layer A to layer B, which is included (all)]:A-B: '
        '--generate[tokens of the greedy continuation that is compared with expected_surface (16); 0\: none]:N: '
        '--limit[the first N stimuli]:N: '
        '--no-reuse[compute every prompt from its first token]'
        '--out[.npy file]:FILE:_files'
        '--special[read the text of a special token as that token]'
        '--record-model-sha256[also hash the whole model file for the metadata, of which there is none with --tokens]'
        '2:MODEL:_bitnet_chat_models'
      )
      ;;
    perplexity)
      own=(
        '--stride[let windows overlap\: each begins N tokens after the one before, and what it adds is predicted]:N: '
        '--limit[the first N windows]:N: '
        '--json[print one JSON object]'
        '2:MODEL FILE:_bitnet_chat_models'
      )
      ;;
    bench)
      own=(
        '-p[tokens of prefill (512)]:N: '
        '-n[tokens of decode (128)]:N: '
        '-d[tokens in the context before that (0)]:N: '
        '-r[runs (5)]:N: '
        '--json[print one JSON object]'
        '2:\[validate\] \[MODEL\]:_bitnet_chat_models'
      )
      ;;
    plan)
      own=(
        '--json[print one JSON object]'
        '2:\[MODEL\]:_bitnet_chat_models'
      )
      ;;
    serve)
      own=(
        '--port[port to listen on (8080); 0\: one that is free, which is printed]:N: '
        '--host[address to listen on (127.0.0.1); on any that others reach, clients have to show a key]:ADDR: '
        '--key-file[file of mode 0600 with the key that clients show; made with a new key where there is none (serve-key in the config folder; none on 127.0.0.1)]:FILE:_files'
        '--cache[memory for what the model has read of the last conversations (1G)]:SIZE: '
        '2:\[MODEL\]:_bitnet_chat_models'
      )
      ;;
    help)
      own=(
        '2:\[COMMAND\]:_bitnet_chat_commands'
      )
      ;;
    print)
      own=(
        '2:WHAT:(config man bash zsh fish)'
      )
      ;;
  esac
  if [[ -n $command ]]; then
    _arguments -s $own $common '1: :_bitnet_chat_commands'
  else
    _arguments -s $common '1: :{_bitnet_chat_commands; _bitnet_chat_models}'
  fi
}

if [[ $funcstack[1] == _bitnet_chat ]]; then
  _bitnet_chat "$@"
else
  compdef _bitnet_chat bitnet-chat
fi
