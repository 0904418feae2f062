"""The routes of the service, a blueprint a subject; what each needs is declared in ``admission.py``."""
