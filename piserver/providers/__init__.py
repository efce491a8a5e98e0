"""Models and the services that run them: one module a vendor API, and an offline one.

Vendor SDKs are imported when a provider is first used, and nowhere else in the project.
"""
