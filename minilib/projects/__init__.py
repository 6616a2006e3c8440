"""Three small programs that train a GPT, each with data of its own, as in minGPT.

python -m minilib.projects.sort       sorts a few digits
python -m minilib.projects.adder      adds two numbers
python -m minilib.projects.chargpt    writes text, character by character
"""
