"""Problems A to F of the course, each answered and then tried out.

python -m examples.labs.problems
"""
