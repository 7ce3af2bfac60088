"""Makes the extract in this folder: python3 extract.py FOLDER, with ocsf-json-schema 1.2.0 from PyPI on the path."""
import json
import os
import sys

from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema

KEPT = {'metadata', 'product', 'actor', 'user', 'service', 'network_endpoint', 'managed_entity', 'object'}


def kept(properties):
    """Properties that refer to no object outside the extract."""
    def is_kept(node):
        target = node.get('$ref') or node.get('items', {}).get('$ref')
        return target is None or target.rsplit('/', 1)[-1] in KEPT
    return {name: node for name, node in sorted(properties.items()) if is_kept(node)}


schemas = OcsfJsonSchemaEmbedded(get_ocsf_schema(version='1.8.0'))
for uid in (3002, 3004):
    name = schemas.lookup_class_name_from_uid(class_uid=uid)
    schema = schemas.get_class_schema(class_name=name)
    schema['properties'] = kept(schema['properties'])
    schema['$defs'] = {key: dict(node, properties=kept(node['properties'])) if 'properties' in node else node
                       for key, node in sorted(schema['$defs'].items()) if key in KEPT}
    with open(os.path.join(sys.argv[1], name.replace('_', '-') + '.json'), 'w') as file:
        json.dump(schema, file, indent=2)
        file.write('\n')
