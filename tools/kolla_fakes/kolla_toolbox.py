"""The module that runs another one in kolla-ansible's container `kolla_toolbox`; here, none."""

from ansible.module_utils.basic import AnsibleModule


def main() -> None:
    """Accept the request."""
    AnsibleModule(
        argument_spec={
            'container_engine': {'type': 'str'},
            'module_name': {'type': 'str', 'required': True},
            'module_args': {'type': 'dict'},
        }
    ).exit_json(changed=False)


if __name__ == '__main__':
    main()
