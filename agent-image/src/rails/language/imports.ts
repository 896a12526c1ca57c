import { child, named, type Node } from '../syntax/node.ts';
import { literal } from './abstract.ts';

/** The local name and the full name of each thing that an import of Python or JavaScript brings. */
export function importsOf(node: Node): readonly (readonly [string, string])[] {
  const from = child(node, 'module_name') ?? child(node, 'source');
  const module = from === null ? null : from.type === 'string' ? literal(from) : from.text;
  return named(node)
    .filter((one) => one !== from)
    .flatMap((one) => (one.type === 'import_clause' ? clause(one, module ?? '') : [pythonName(one, module)]));
}

function pythonName(one: Node, module: string | null): readonly [string, string] {
  const aliased = one.type === 'aliased_import';
  const name = aliased ? (child(one, 'name')?.text ?? '') : one.text;
  const first = name.split('.')[0] as string;
  const local = aliased ? (child(one, 'alias')?.text ?? name) : module === null ? first : name;
  return [local, module === null ? (aliased ? name : first) : `${module}.${name}`];
}

function clause(node: Node, module: string): readonly (readonly [string, string])[] {
  return named(node).flatMap((one): (readonly [string, string])[] => {
    if (one.type === 'identifier') return [[one.text, module]];
    if (one.type === 'namespace_import') return [[named(one)[0]?.text ?? '', module]];
    return named(one).map((name) => [
      (child(name, 'alias') ?? child(name, 'name') ?? name).text,
      `${module}.${child(name, 'name')?.text ?? name.text}`,
    ]);
  });
}
