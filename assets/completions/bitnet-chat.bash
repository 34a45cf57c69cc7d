# bash completion for bitnet-chat. Made by: bitnet-chat print bash

# Offers those of its arguments that begin with what is typed. compgen -W would run what stands in them.
_bitnet_chat_words() {
  local word
  for word; do
    if [[ $word == "$cur"* ]]; then COMPREPLY+=("$word"); fi
  done
}

# Numbers of conversations, with --deleted of those in the trash. Nothing of a title gets here.
_bitnet_chat_ids() {
  local id title
  while read -r id title; do
    if [[ $id =~ ^[0-9]+$ ]]; then _bitnet_chat_words "$id"; fi
  done < <(bitnet-chat list "$@" 2>/dev/null)
}

_bitnet_chat_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}

# The models that 'bitnet-chat pull' has fetched.
_bitnet_chat_pulled() {
  local models="${XDG_CACHE_HOME:-$HOME/.cache}/bitnet-chat/models/hub"
  mapfile -t COMPREPLY < <(
    [[ -d $models ]] && cd "$models" && printf '%s\n' */* | while read -r name; do
      [[ -d $name && $name == "$cur"* ]] && printf '%s\n' "$name"
    done
  )
}

# Folders, .gguf files, the models that 'bitnet-chat pull' has fetched and the names of what is here.
_bitnet_chat_models() {
  _bitnet_chat_pulled
  compopt -o filenames 2>/dev/null
  mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(
    compgen -d -- "$cur"
    compgen -f -X '!*.gguf' -- "$cur"
    bitnet-chat models --names 2>/dev/null | while read -r name; do
      [[ $name == "$cur"* ]] && printf '%s\n' "$name"
    done
  )
}

_bitnet_chat() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= arguments=0 i
  COMPREPLY=()
  if [[ $cur == '=' ]]; then
    cur=
  elif [[ $prev == '=' ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      --models|--device|--threads|--vram|--ram|--ctx|--chat-template|--expert-trace|--i2s-layout|--activation|--steer|--ablate-head|-p|--prompt|--script|--output|--system|--persona|--resume|--db|--kv-cache|--temp|--top-k|--top-p|--min-p|--repeat-penalty|--repeat-last|--seed|-n|--max-tokens|--think|--draft|--stop|--theme|--status|--record|--keys|--config|--speed|--model|--format|-o|--out|--tokens|--top|--prefill|--stimuli|--template|--position|--what|--layers|--generate|--limit|--stride|-d|-r|--port|--host|--key-file|--cache) [[ ${COMP_WORDS[i+1]} == '=' ]] && ((++i)); ((++i)) ;;
      -*) ;;
      list|show|search|replay|export|import|delete|undelete|models|pull|rm|info|devices|tokenize|detokenize|render|logits|probe|perplexity|bench|plan|serve|help|print) if [[ $command ]]; then ((++arguments)); else command=${COMP_WORDS[i]}; fi ;;
      *) ((++arguments)) ;;
    esac
  done

  case $command in
    replay)
      case $prev in
        --speed) COMPREPLY=(); return ;;
        --model) _bitnet_chat_models; return ;;
      esac
      ;;
    export)
      case $prev in
        --format) _bitnet_chat_words 'md' 'json' 'openai'; return ;;
        -o|--out) _bitnet_chat_files; return ;;
      esac
      ;;
    logits)
      case $prev in
        --tokens) COMPREPLY=(); return ;;
        --out) _bitnet_chat_files; return ;;
        --top) COMPREPLY=(); return ;;
        --prefill) COMPREPLY=(); return ;;
      esac
      ;;
    probe)
      case $prev in
        --tokens) COMPREPLY=(); return ;;
        --stimuli) _bitnet_chat_files; return ;;
        --template) COMPREPLY=(); return ;;
        --position) _bitnet_chat_words 'last' 'root' 'pattern' 'prompt_mean' 'mean'; return ;;
        --what) _bitnet_chat_words 'residual' 'attention' 'ffn' 'qkv' 'query' 'heads' 'input' 'weights'; return ;;
        --layers) COMPREPLY=(); return ;;
        --generate) COMPREPLY=(); return ;;
        --limit) COMPREPLY=(); return ;;
        --out) _bitnet_chat_files; return ;;
      esac
      ;;
    perplexity)
      case $prev in
        --stride) COMPREPLY=(); return ;;
        --limit) COMPREPLY=(); return ;;
      esac
      ;;
    bench)
      case $prev in
        -p) COMPREPLY=(); return ;;
        -n) COMPREPLY=(); return ;;
        -d) COMPREPLY=(); return ;;
        -r) COMPREPLY=(); return ;;
      esac
      ;;
    serve)
      case $prev in
        --port) COMPREPLY=(); return ;;
        --host) COMPREPLY=(); return ;;
        --key-file) _bitnet_chat_files; return ;;
        --cache) COMPREPLY=(); return ;;
      esac
      ;;
  esac
  case $prev in
    --models) _bitnet_chat_files; return ;;
    --device) _bitnet_chat_words 'cpu' '0' '1'; return ;;
    --threads) COMPREPLY=(); return ;;
    --vram) _bitnet_chat_words 'auto' '2G' '4G' '50%' '75%'; return ;;
    --ram) COMPREPLY=(); return ;;
    --ctx) COMPREPLY=(); return ;;
    --chat-template) _bitnet_chat_files; return ;;
    --expert-trace) _bitnet_chat_files; return ;;
    --i2s-layout) _bitnet_chat_words '128' '64' '1x4'; return ;;
    --activation) _bitnet_chat_words 'relu2' 'silu'; return ;;
    --steer) COMPREPLY=(); return ;;
    --ablate-head) COMPREPLY=(); return ;;
    -p|--prompt) COMPREPLY=(); return ;;
    --script) _bitnet_chat_files; return ;;
    --output) _bitnet_chat_words 'text' 'tui' 'jsonl'; return ;;
    --system) COMPREPLY=(); return ;;
    --persona) _bitnet_chat_words 'brief' 'coder' 'editor' 'teacher'; return ;;
    --resume) _bitnet_chat_ids; return ;;
    --db) _bitnet_chat_files; return ;;
    --kv-cache) COMPREPLY=(); return ;;
    --temp) COMPREPLY=(); return ;;
    --top-k) COMPREPLY=(); return ;;
    --top-p) COMPREPLY=(); return ;;
    --min-p) COMPREPLY=(); return ;;
    --repeat-penalty) COMPREPLY=(); return ;;
    --repeat-last) COMPREPLY=(); return ;;
    --seed) _bitnet_chat_words 'random'; return ;;
    -n|--max-tokens) COMPREPLY=(); return ;;
    --think) _bitnet_chat_words 'on' 'off' 'auto'; return ;;
    --draft) _bitnet_chat_words 'on' 'off'; return ;;
    --stop) COMPREPLY=(); return ;;
    --theme) _bitnet_chat_words '16' 'light' 'dark' 'mono'; return ;;
    --status) _bitnet_chat_words 'short' 'full'; return ;;
    --record) _bitnet_chat_files; return ;;
    --keys) _bitnet_chat_files; return ;;
    --config) _bitnet_chat_files; return ;;
  esac

  local flags=('--models' '--device' '--threads' '--vram' '--ram' '--ctx' '--chat-template' '--expert-trace' '--i2s-layout' '--activation' '--steer' '--ablate-head' '-p' '--prompt' '--keep' '--script' '--output' '--system' '--persona' '-c' '--continue' '--resume' '--private' '--db' '--no-titles' '--force' '--allow-writes' '--kv-cache' '--no-kv-cache' '--temp' '--top-k' '--top-p' '--min-p' '--repeat-penalty' '--repeat-last' '--seed' '-n' '--max-tokens' '--think' '--draft' '--stop' '--no-color' '--theme' '--status' '--record' '--record-input' '--mouse' '--keys' '--verbose' '--config' '--version' '-h' '--help')
  case $command in
    list) flags+=('--all' '--deleted' '--json') ;;
    show) flags+=('--json') ;;
    search) flags+=('--json') ;;
    replay) flags+=('--speed' '--instant' '--verify' '--model') ;;
    export) flags+=('--format' '-o' '--out') ;;
    delete) flags+=('--now') ;;
    models) flags+=('--json' '--names') ;;
    rm) flags+=('--yes') ;;
    tokenize) flags+=('--special' '--csv') ;;
    logits) flags+=('--tokens' '--out' '--top' '--special' '--record-model-sha256' '--prefill') ;;
    probe) flags+=('--tokens' '--stimuli' '--template' '--position' '--what' '--layers' '--generate' '--limit' '--no-reuse' '--out' '--special' '--record-model-sha256') ;;
    perplexity) flags+=('--stride' '--limit' '--json') ;;
    bench) flags+=('-p' '-n' '-d' '-r' '--json') ;;
    plan) flags+=('--json') ;;
    serve) flags+=('--port' '--host' '--key-file' '--cache') ;;
  esac
  if [[ $cur == -* ]]; then
    _bitnet_chat_words "${flags[@]}"
    return
  fi
  ((arguments == 0)) || return
  case $command in
    show) _bitnet_chat_ids ;;
    replay) _bitnet_chat_ids ;;
    export) _bitnet_chat_ids ;;
    import) _bitnet_chat_files ;;
    delete) _bitnet_chat_ids ;;
    undelete) _bitnet_chat_ids --deleted ;;
    pull) _bitnet_chat_words 'bitnet-2b4t' 'falcon-e-1b' 'falcon-e-3b' 'bonsai-1.7b' 'bonsai-4b' 'bonsai-8b' 'bonsai-8b-pq2' 'bonsai-27b' 'bonsai-27b-q2' 'bonsai2-27b' 'maple-20b' 'maple-20b-tq2' ;;
    rm) _bitnet_chat_pulled ;;
    info) _bitnet_chat_models ;;
    devices) _bitnet_chat_models ;;
    tokenize) _bitnet_chat_models ;;
    detokenize) _bitnet_chat_models ;;
    render) _bitnet_chat_models ;;
    logits) _bitnet_chat_models ;;
    probe) _bitnet_chat_models ;;
    perplexity) _bitnet_chat_models ;;
    bench) _bitnet_chat_models ;;
    plan) _bitnet_chat_models ;;
    serve) _bitnet_chat_models ;;
    help) _bitnet_chat_words 'list' 'show' 'search' 'replay' 'export' 'import' 'delete' 'undelete' 'models' 'pull' 'rm' 'info' 'devices' 'tokenize' 'detokenize' 'render' 'logits' 'probe' 'perplexity' 'bench' 'plan' 'serve' 'help' 'print' ;;
    print) _bitnet_chat_words 'config' 'man' 'bash' 'zsh' 'fish' ;;
    '')
      _bitnet_chat_models
      _bitnet_chat_words 'list' 'show' 'search' 'replay' 'export' 'import' 'delete' 'undelete' 'models' 'pull' 'rm' 'info' 'devices' 'tokenize' 'detokenize' 'render' 'logits' 'probe' 'perplexity' 'bench' 'plan' 'serve' 'help' 'print'
      ;;
  esac
}

complete -F _bitnet_chat bitnet-chat
