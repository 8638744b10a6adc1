"""Specs of policies, as a user of Senlin writes them."""


def spec(kind, version='1.0', **properties):
    return {'type': f'senlin.policy.{kind}', 'version': version, 'properties': properties}


def zones(*names, **weights):
    weighted = [{'name': name, 'weight': weight} for name, weight in weights.items()]
    return spec('zone_placement', zones=[*({'name': name} for name in names), *weighted])


def regions(*names):
    return spec('region_placement', regions=[{'name': name} for name in names])


def deletion(**properties):
    return spec('deletion', '1.1', **properties)


def spreading(placement, **spread):
    """Return a spec of a placement policy in version 1.1, which spreads the nodes."""
    properties = {**placement['properties'], 'spread': spread}
    return {**placement, 'version': '1.1', 'properties': properties}


def protecting(mode):
    return {**deletion(protection=mode), 'version': '1.2'}


def floored(min_online):
    return {**load_balancing(min_online=min_online), 'version': '1.4'}


def affinity():
    return spec('affinity', servergroup={'name': 'group', 'policies': 'anti-affinity'})


def scaling(event, number):
    adjustment = {'type': 'CHANGE_IN_CAPACITY', 'number': number, 'min_step': 1}
    adjustment = {**adjustment, 'best_effort': True, 'cooldown': 0}
    return spec('scaling', event=event, adjustment=adjustment)


def load_balancing(**properties):
    pool = {'protocol': 'HTTP', 'protocol_port': 80, 'subnet': 'private-subnet'}
    vip = {'subnet': 'private-subnet', 'protocol': 'HTTP', 'protocol_port': 80}
    return spec('loadbalance', '1.1', pool=pool, vip=vip, **properties)


def example_load_balancing():
    """Return examples/policies/lb_policy.yaml of Senlin, with string numbers as in its tests."""
    return spec(
        'loadbalance',
        '1.1',
        pool={
            'protocol': 'HTTP', 'protocol_port': '80', 'subnet': 'private-subnet',
            'lb_method': 'ROUND_ROBIN',
            'session_persistence': {'type': 'SOURCE_IP', 'cookie_name': 'whatever'},
        },
        vip={
            'subnet': 'private-subnet', 'connection_limit': 500, 'protocol': 'HTTP',
            'protocol_port': 80,
        },
        health_monitor={
            'type': 'PING', 'delay': '10000', 'timeout': 5000, 'max_retries': 4,
            'http_method': 'GET', 'url_path': '/index.html', 'expected_codes': '200, 202',
        },
        lb_status_timeout=300,
    )  # fmt: skip
