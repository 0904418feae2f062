"""The routes of the service, one blueprint per subject; ``admission.py`` declares what each route needs."""
