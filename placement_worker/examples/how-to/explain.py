"""Print the decisions about an action from decision logs: python3 explain.py ACTION_ID FILE..."""

import json
import sys
from pathlib import Path

action_id, *files = sys.argv[1:]
for record in (json.loads(line) for file in files for line in Path(file).read_text().splitlines()):
    request = record['request']
    if record['method'] != 'policy_check' or request['action']['id'] != action_id:
        continue
    if request['dry_run']:
        continue
    data = record['reply']['action']['data']
    print(request['target'], data['status'], data['reason'], sep=': ')
    for decision in record['reply']['decisions']:
        print(f'  {decision["policy_name"]}: {decision["outcome"]}: {decision["reason"]}')
        for zone in decision['details'].get('zones', []):
            counts = '{name}: {current} -> {final} nodes, ideal {ideal} {note}'.format(**zone)
            print('   ', counts.rstrip())
    for node_id in data.get('deletion', {}).get('candidates', []):
        print('  victim:', node_id)
