from drf_spectacular.openapi import AutoSchema


class Schema(AutoSchema):
    pass
