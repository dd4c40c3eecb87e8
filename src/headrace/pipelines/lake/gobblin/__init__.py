"""Gobblin: a bounded job made of stages, each of which can be a class of one's own.

    Source → work units, each: Extractor → Converters → row policies → Fork → Writer → task policies
    all of them: Publisher

Writers put files into a folder of the job, and when every unit is done the publisher moves all of
them into the final folder and the state store learns how far each unit came.
"""
