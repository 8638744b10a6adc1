"""The property `placement` of a group."""

from heat.engine import constraints, properties

PLACEMENT = 'placement'
KEYS = ZONES, DELETION = ('zones', 'deletion')
ZONE_KEYS = NAME, WEIGHT = ('name', 'weight')
CRITERIA = 'criteria'
OLDEST_FIRST = 'OLDEST_FIRST'

_ZONE = properties.Schema(
    properties.Schema.MAP,
    schema={
        NAME: properties.Schema(
            properties.Schema.STRING,
            'Name of an availability zone.',
            required=True,
            constraints=[constraints.Length(min=1)],
        ),
        WEIGHT: properties.Schema(
            properties.Schema.INTEGER,
            'Relative weight of the availability zone.',
            default=100,
            constraints=[constraints.Range(min=1)],
        ),
    },
)
_DELETION = properties.Schema(
    properties.Schema.MAP,
    'The choice of the members to remove.',
    schema={
        CRITERIA: properties.Schema(
            properties.Schema.STRING,
            'Which members leave first. Failed and outdated members leave before them.',
            default=OLDEST_FIRST,
            constraints=[constraints.AllowedValues(['RANDOM', OLDEST_FIRST, 'YOUNGEST_FIRST'])],
        )
    },
    default={CRITERIA: OLDEST_FIRST},
)

SCHEMA = properties.Schema(
    properties.Schema.MAP,
    'Availability zones of the members, and the choice of the members to remove. Existing '
    'members keep their zones.',
    required=True,
    update_allowed=True,
    schema={
        ZONES: properties.Schema(
            properties.Schema.LIST,
            'Availability zones to choose from.',
            required=True,
            schema=_ZONE,
            constraints=[constraints.Length(min=1)],
        ),
        DELETION: _DELETION,
    },
)
