import { IsOptional } from 'typebox';
import { mutabilityOf, rulesOf, type Mutability } from '../schema/index.ts';
import type { Kind, Node } from './definition.ts';

/** One line of a field table. */
export interface FieldRow {
  readonly path: string;
  readonly type: string;
  readonly required: boolean;
  readonly default: string;
  readonly constraints: string;
  readonly description: string;
  readonly mutability: Mutability;
}

const scalarTypes: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'integer',
  boolean: 'boolean',
  object: 'object',
  array: 'list',
};

function typeName(node: Node): string {
  if (node['x-kubernetes-int-or-string'] === true) return 'quantity';
  if (node['format'] === 'date-time') return 'time';
  if (node['type'] === 'array') return `list of ${typeName(node['items'] as Node)}`;
  if (node['type'] === 'object' && 'additionalProperties' in node && node['additionalProperties'] !== false) return 'map';
  return scalarTypes[node['type'] as string] ?? 'string';
}

/** Bounds in words; patterns stay in the CRD, descriptions say what they mean. */
function constraints(node: Node): string {
  const range = (low: unknown, high: unknown, unit: string): string[] => {
    if (high === undefined) return [];
    return [`${low === undefined ? '≤ ' : `${JSON.stringify(low)}…`}${JSON.stringify(high)}${unit}`];
  };
  const items = node['items'] as Node | undefined;
  const keys = node['x-kubernetes-list-map-keys'] as readonly string[] | undefined;
  const values = node['enum'] as readonly string[] | undefined;
  return [
    ...(values === undefined
      ? range(node['minLength'], node['maxLength'], ' characters')
      : [values.map((value) => `\`${value}\``).join(', ')]),
    ...(node['maximum'] === Number.MAX_SAFE_INTEGER ? [`≥ ${String(node['minimum'])}`] : range(node['minimum'], node['maximum'], '')),
    ...range(node['minItems'], node['maxItems'], ' items'),
    ...range(undefined, node['maxProperties'], ' entries'),
    ...(keys === undefined ? [] : [`unique by ${keys.join(', ')}`]),
    ...(items?.['type'] === 'string' ? [`each ${constraints(items)}`] : []),
  ].join('; ');
}

/** All fields below a node, depth first, in the order of the source. */
export function fieldRows(node: Node, path: string, inherited: Mutability = 'Mutable'): readonly FieldRow[] {
  const required = (node['required'] ?? []) as readonly string[];
  return Object.entries((node['properties'] ?? {}) as Record<string, Node>).flatMap(([name, child]) => {
    const mutability = mutabilityOf(child) ?? inherited;
    const items = child['items'] as Node | undefined;
    const field = `${path}.${name}`;
    const row: FieldRow = {
      path: field,
      type: typeName(child),
      required: required.includes(name) && !('default' in child) && !IsOptional(child),
      default: 'default' in child && child['type'] !== 'object' ? JSON.stringify(child['default']) : '',
      constraints: constraints(child),
      description: child['description'] as string,
      mutability,
    };
    return [row, ...fieldRows(items ?? child, items === undefined ? field : `${field}[]`, mutability)];
  });
}

/** The messages of all rules at and below a node, each once. */
export function ruleMessages(node: Node): readonly string[] {
  const own = rulesOf(node).map(({ message }) => message);
  const items = node['items'] as Node | undefined;
  const below = [...Object.values((node['properties'] ?? {}) as Record<string, Node>), ...(items === undefined ? [] : [items])];
  return [...new Set([...own, ...below.flatMap(ruleMessages)])];
}

const change: Readonly<Record<Mutability, string>> = { Mutable: 'yes', Immutable: 'no', Upward: 'upward', Escalating: 'forward' };

function table(head: readonly string[], rows: readonly (readonly string[])[]): readonly string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)];
}

/** The reference of one kind as Markdown lines. */
export function kindReference(kind: Kind): readonly string[] {
  const specNode = kind.spec as Node;
  const spec = fieldRows(specNode, 'spec', mutabilityOf(kind.spec));
  const rules = [...kind.rules.map(({ message }) => message), ...ruleMessages(specNode)];
  const code = (value: string): string => (value === '' ? '' : `\`${value}\``);
  return [
    `## ${kind.kind}`,
    '',
    `${kind.description} Short name \`${kind.shortName}\`.${kind.scale === undefined ? '' : ` Scales by \`${kind.scale.specReplicasPath}\`.`}`,
    ...(kind.selectable.length === 0
      ? []
      : ['', `Field selectors: ${kind.selectable.map((field) => `\`${field.slice(1)}\``).join(', ')}.`]),
    '',
    ...table(
      ['Field', 'Type', 'Default', 'Constraints', 'Description', 'Mutable'],
      spec.map((row) => [
        code(row.path),
        row.required ? `${row.type}, required` : row.type,
        code(row.default),
        row.constraints,
        row.description,
        change[row.mutability],
      ]),
    ),
    '',
    ...(rules.length === 0
      ? []
      : ['The API server refuses, besides unknown fields and what is out of bounds:', '', ...rules.map((message) => `- ${message}`), '']),
    ...statusReference(kind),
  ];
}

function statusReference({ kind, status }: Kind): readonly string[] {
  if (status === undefined) return ['It has no status.', ''];
  const rows = fieldRows(status as Node, 'status').map((row) => [
    row.path === '' ? '' : `\`${row.path}\``,
    row.type,
    row.constraints,
    row.description,
  ]);
  return [`### Status of ${kind}`, '', ...table(['Field', 'Type', 'Constraints', 'Description'], rows), ''];
}
