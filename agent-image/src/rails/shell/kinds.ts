// agent-image, rails/shell: values of the expressions and statements of Python and JavaScript, by the type of their node.
import { child, named, walk, type Node } from '../syntax/node.ts';
import { entryOf, membersOf } from './calls.ts';
import { bounded, byName } from './command.ts';
import { asText, importsOf, joined, listOf, literal, nothingKnown, textOf, type Abstract } from './effects.ts';
import { hole } from './marks.ts';

/** The walk over a program, as far as its nodes need it. */
export interface Walk {
  value(node: Node): Abstract;
  name(text: string): Abstract;
  /** Gives a target of an assignment its value. */
  bind(target: Node | null, value: Abstract): Abstract;
  /** Walks the body of a loop with each member, so far as there is room. */
  loop(members: readonly Abstract[], walk: (member: Abstract) => void): void;
  import(local: string, name: string): void;
  call(node: Node): Abstract;
  define(node: Node, name?: string): Abstract;
  decorate(node: Node): Abstract;
  noticed(property: string): void;
}

/** Targets that take a list apart. */
export const several = /^(?:pattern_list|tuple_pattern|list_pattern|array_pattern)$/;

type Kind = (program: Walk, node: Node) => Abstract;

function stringNode(program: Walk, node: Node): Abstract {
  const holes = node.children.filter((one) => one.type === 'interpolation' || one.type === 'template_substitution');
  if (holes.length === 0) return textOf(literal(node));
  const texts: string[] = [];
  let at = node.start;
  for (const one of holes) {
    const inner = named(one)[0];
    texts.push(node.text.slice(at - node.start, one.start - node.start), inner === undefined ? hole : asText(program.value(inner)));
    at = one.end;
  }
  const text = joined([...texts, node.text.slice(at - node.start)], '');
  return text === hole ? textOf(hole) : textOf(literal({ ...node, text }));
}

function member(program: Walk, node: Node): Abstract {
  const object = child(node, 'object') ?? child(node, 'value');
  const of = object === null ? nothingKnown : program.value(object);
  const property = (child(node, 'attribute') ?? child(node, 'property'))?.text;
  if (property !== undefined) {
    program.noticed(property);
    if (of.kind === 'record') return entryOf(of, property) ?? nothingKnown;
    if (of.kind !== 'name') return nothingKnown;
    return { kind: 'name', name: `${of.name}.${property}` };
  }
  const index = child(node, 'subscript') ?? child(node, 'index');
  const key = index === null ? nothingKnown : program.value(index);
  if (of.kind === 'text' && index?.text === '::-1') return textOf(Array.from(of.text).reverse().join(''));
  if (of.kind === 'list') return of.items[Number(index?.text)] ?? nothingKnown;
  if (of.kind === 'record') return entryOf(of, asText(key)) ?? nothingKnown;
  return of.kind === 'name' && key.kind === 'text' ? { kind: 'name', name: `${of.name}.${key.text}` } : nothingKnown;
}

function binary(program: Walk, node: Node): Abstract {
  const [left, right] = [child(node, 'left'), child(node, 'right')].map((one) => (one === null ? nothingKnown : program.value(one)));
  const operator = node.children.find((one) => !one.named)?.text;
  if (operator === '+') return sumOf(left, right);
  if (operator === '/' && left?.kind === 'text') return { kind: 'text', text: bounded(`${left.text}/${asText(right)}`), path: true };
  if (operator === '%' && left?.kind === 'text') {
    const values = right?.kind === 'list' ? right.items : [right];
    return textOf(
      joined(
        left.text.split(/%[sdr]/).flatMap((part, i) => (i === 0 ? [part] : [asText(values[i - 1]), part])),
        '',
      ),
    );
  }
  return nothingKnown;
}

/** `x += y`; of numbers the value that it began with. */
function augmented(program: Walk, node: Node): Abstract {
  const target = child(node, 'left');
  const [before, more] = [target, child(node, 'right')].map((one) => (one === null ? nothingKnown : program.value(one)));
  const isNumber = before?.kind === 'text' && /^-?[\d.]+$/.test(before.text);
  if (isNumber || target?.type !== 'identifier') return nothingKnown;
  const sum = node.children.find((one) => !one.named)?.text === '+=' ? sumOf(before, more) : nothingKnown;
  return program.bind(target, sum);
}

function sumOf(left: Abstract | undefined, right: Abstract | undefined): Abstract {
  if (left?.kind === 'list' && right?.kind === 'list') return listOf([...left.items, ...right.items]);
  return left?.kind === 'text' || right?.kind === 'text' ? textOf(asText(left) + asText(right)) : nothingKnown;
}

/** `for x in y`: each name on the left may be each member of what is on the right. */
function forEach(program: Walk, node: Node): Abstract {
  const [left, right] = [child(node, 'left'), child(node, 'right')];
  const members = membersOf(right === null ? nothingKnown : program.value(right));
  const rest = named(node).filter((one) => one !== left && one !== right);
  program.loop(members, (member) => {
    const isTaken = left !== null && several.test(left.type) && member.kind === 'list';
    if (isTaken) program.bind(left, member);
    else for (const one of left === null ? [] : walk(left)) if (one.type === 'identifier') program.bind(one, member);
    for (const one of rest) program.value(one);
  });
  return nothingKnown;
}

/** The clauses of a comprehension stand behind the expression that uses their names. */
function comprehension(program: Walk, node: Node): Abstract {
  const clauses = named(node).filter((one) => one.type === 'for_in_clause');
  for (const one of [...clauses, ...named(node).filter((one) => !clauses.includes(one))]) program.value(one);
  return nothingKnown;
}

function bind(program: Walk, node: Node): Abstract {
  const fn = node.type === 'variable_declarator' ? child(node, 'value') : null;
  if (fn !== null && /^(?:arrow_function|function_expression)$/.test(fn.type)) return program.define(fn, child(node, 'name')?.text);
  const right = child(node, 'right') ?? child(node, 'value');
  return program.bind(child(node, 'left') ?? child(node, 'name'), right === null ? nothingKnown : program.value(right));
}

/** A table in its text; nothing where a part of it is not in plain sight. */
function table(program: Walk, node: Node): Abstract {
  let isWhole = true;
  const entries = named(node).flatMap((one): (readonly [string, Abstract])[] => {
    const [key, value] = [child(one, 'key'), child(one, 'value')];
    if (one.type !== 'pair' || key === null || value === null) {
      isWhole &&= one.type === 'comment';
      program.value(one);
      return [];
    }
    const name = key.type === 'property_identifier' ? key.text : asText(program.value(key));
    isWhole &&= !name.includes(hole);
    return [[name, program.value(value)]];
  });
  return isWhole && entries.length > 0 ? { kind: 'record', entries } : nothingKnown;
}

/** `with x as y`. */
function alias(program: Walk, node: Node): Abstract {
  const [value, target] = named(node);
  const known = value === undefined ? nothingKnown : program.value(value);
  const name = target === undefined ? undefined : named(target)[0];
  return name?.type === 'identifier' ? program.bind(name, known) : known;
}

function imports(program: Walk, node: Node): Abstract {
  for (const [local, name] of importsOf(node)) program.import(local, name);
  return nothingKnown;
}

const values = (program: Walk, node: Node): readonly Abstract[] => named(node).map((one) => program.value(one));

export const kinds = byName<Kind>(
  ['identifier', (program, node) => program.name(node.text)],
  ['import', (_, node) => ({ kind: 'name', name: node.text })],
  ['string template_string', stringNode],
  ['integer unary_operator', (_, node) => textOf(node.text)],
  ['number', (_, node) => textOf(/^0x/i.test(node.text) ? String(Number(node.text)) : node.text)],
  ['unary_expression', (program, node) => (values(program, node), textOf(node.text))],
  ['concatenated_string', (program, node) => textOf(values(program, node).map(asText).join(''))],
  ['attribute member_expression subscript subscript_expression', member],
  ['binary_operator binary_expression', binary],
  ['list tuple array expression_list', (program, node) => ({ kind: 'list', items: values(program, node) })],
  ['parenthesized_expression await_expression', (program, node) => values(program, node).at(-1) ?? nothingKnown],
  ['assignment named_expression assignment_expression variable_declarator', bind],
  ['import_statement import_from_statement', imports],
  ['decorated_definition', (program, node) => program.decorate(node)],
  ['function_definition function_declaration', (program, node) => program.define(node)],
  ['for_statement for_in_statement for_in_clause', forEach],
  ['augmented_assignment augmented_assignment_expression', augmented],
  ['dictionary object', table],
  ['as_pattern', alias],
  ['list_comprehension set_comprehension generator_expression', comprehension],
  ['call call_expression new_expression', (program, node) => program.call(node)],
);
