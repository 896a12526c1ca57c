import { agentTask, agentTaskOrder, type Kind } from '@agentfleet/protocol/api';

/** The parts of a schema that types need. */
interface Node {
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Node>>;
  readonly required?: readonly string[];
  readonly items?: Node;
  readonly additionalProperties?: Node | boolean;
  readonly default?: unknown;
}

/** Types of the client's package, as text that needs no other package. */
export function clientTypes(): string {
  const parts = [agentTask, agentTaskOrder].flatMap(typesOf);
  return `// Made by \`npm run generate\` from protocol/src/api.\n\n${meta}\n${parts.join('\n')}`;
}

const meta = `/** \`metav1.ObjectMeta\` as far as tasks have it. */
export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}
`;

function typesOf({ kind, description, spec, status }: Kind): readonly string[] {
  const [inner, state] = [spec, status] as unknown as readonly [Node, Node];
  const object = `/** ${description} */
export interface ${kind} {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly spec: ${kind}Spec;
  readonly status?: ${kind}Status;
}
`;
  return [
    object,
    `${comment(inner, '')}export interface ${kind}Spec ${typeOf(inner, '')}\n`,
    `${comment(state, '')}export interface ${kind}Status ${typeOf(state, '')}\n`,
  ];
}

function typeOf(node: Node, indent: string): string {
  if (node.enum !== undefined) return node.enum.map((value) => `'${String(value)}'`).join(' | ');
  if (node.type === 'array') return `readonly ${wrapped(typeOf(node.items ?? {}, indent))}[]`;
  if (node.type === 'string' || node.type === 'boolean') return node.type;
  if (node.type === 'integer' || node.type === 'number') return 'number';
  if (node.properties !== undefined) return members(node, indent);
  if (typeof node.additionalProperties === 'object') return `Readonly<Record<string, ${typeOf(node.additionalProperties, indent)}>>`;
  return 'unknown';
}

function wrapped(type: string): string {
  return type.includes(' | ') && !type.startsWith('{') ? `(${type})` : type;
}

/** A field with a default may be left out. */
function members({ properties = {}, required = [] }: Node, indent: string): string {
  const inner = `${indent}  `;
  const lines = Object.entries(properties).map(([name, node]) => {
    const sign = required.includes(name) && node.default === undefined ? '' : '?';
    return `${comment(node, inner)}${inner}readonly ${name}${sign}: ${typeOf(node, inner)};\n`;
  });
  return `{\n${lines.join('')}${indent}}`;
}

function comment({ description }: Node, indent: string): string {
  return description === undefined ? '' : `${indent}/** ${description.replaceAll('*/', '* /')} */\n`;
}
