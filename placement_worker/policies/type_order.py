"""Sort policy types by name and version; 1.9 comes before 1.10."""


def of_type(type_name: str) -> tuple[str, list[int], str]:
    """Return the key of a type, given with its version."""
    name, _, version = type_name.rpartition('-')
    return name, *of_version(version)


def of_version(version: str) -> tuple[list[int], str]:
    """Return the key of a version; letters count only between versions with equal numbers."""
    return [int(part) for part in version.split('.') if part.isdecimal()], version
