import { apiVersion, group, version } from '../group.ts';
import type { Kind } from './kind.ts';
import { structural, type Node } from './structural.ts';

/** JSON Schema of the whole object: what validators of other parts and the CRD are made from. */
export function objectSchema(kind: Kind): Node {
  return {
    type: 'object',
    description: kind.description,
    additionalProperties: false,
    required: ['apiVersion', 'kind', 'metadata', 'spec'],
    properties: {
      apiVersion: { type: 'string', description: 'Group and version.', enum: [apiVersion], maxLength: apiVersion.length },
      kind: { type: 'string', description: 'Kind of the object.', enum: [kind.kind], maxLength: kind.kind.length },
      metadata: { type: 'object', description: 'Name, labels and owners.' },
      spec: kind.spec,
      ...(kind.status === undefined ? {} : { status: kind.status }),
    },
  };
}

function rootSchema(kind: Kind): Node {
  const root = structural(objectSchema(kind)) as { readonly properties: Node };
  const meta = (description: string): Node => ({ description, type: 'string' });
  return {
    ...root,
    required: ['spec'],
    ...(kind.rules.length === 0 ? {} : { 'x-kubernetes-validations': kind.rules }),
    properties: {
      ...root.properties,
      apiVersion: meta('Group and version of the object.'),
      kind: meta('Kind of the object.'),
      metadata: { type: 'object' },
    },
  };
}

/** The CustomResourceDefinition of a kind, as data. */
export function customResourceDefinition(kind: Kind): Node {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        shortNames: [kind.shortName],
        categories: ['agentfleet'],
      },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          ...(kind.status === undefined
            ? {}
            : { subresources: { status: {}, ...(kind.scale === undefined ? {} : { scale: kind.scale }) } }),
          ...(kind.selectable.length === 0 ? {} : { selectableFields: kind.selectable.map((jsonPath) => ({ jsonPath })) }),
          additionalPrinterColumns: kind.columns,
          schema: { openAPIV3Schema: rootSchema(kind) },
        },
      ],
    },
  };
}
