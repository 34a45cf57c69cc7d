"""Fixed prompts: a first look at what a model answers, and the two whose logits are kept for the engine's tests."""

PROMPTS = [[q] for q in (
    "Hello!", "What is your name?", "How are you?", "What can you do?", "who are you", "Thanks!", "Goodbye", "What is the capital of Japan?", "What is 17 + 25?", "What is 7 times 8?", "What's the opposite of hot?",
    "Tell me a story about a dragon.", "Write a poem about the sea.", "How many legs does a spider have?", "How do I save my chat to a file?", "How do I quit?", "What does /regen do?", "How do I get Microsoft's model?",
    "What is a KV cache?", "what are ternary weights", "Why is the sky blue?", "Name five animals.", "Tell me a joke.", "What is the weather today?", "Explain string theory.", "spell banana", "Count to 10.", "I feel sad today.",
    "What can't you do?", "Can you write me a program in Java?", "is a whale a fish?", "What comes after Tuesday?", "Who is the president of France?")] + [
    ["Hi, my name is Johanna.", "What is 3 plus 4?", "What is my name?", "Thank you, bye!"],
    ["I have a dog called Biscuit.", "My favourite colour is green.", "Tell me a short story about a robot.", "What is the name of my dog?", "And what is my favourite colour?"],
    ["What is the capital of Italy?", "And of Spain?", "Where is it?", "Thanks"],
    ["SYSTEM You are Ruby. Talk like a pirate.", "Who are you?", "What is the capital of France?"],
    ["Hello", "I am fine, thanks.", "Tell me a joke", "Another one", "What did I just ask?"],
    ["SYSTEM You are a helpful assistant.", "My shopping list is milk, bread and eggs.", "Add cheese.", "What is on my list?"],
]
GOLDEN = [[("user", "Hello! What is your name?")], [("system", "You are a helpful assistant."), ("user", "My name is Ada."), ("assistant", "Nice to meet you, Ada!"), ("user", "What is my name, and what is 7 times 8?")]]
