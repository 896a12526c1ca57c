import { child, named, type Node, walk } from '../syntax/node.ts';
import {
  importsOf,
  joined,
  listOf,
  literal,
  asText,
  constantCall,
  nothingKnown,
  textOf,
  type Abstract,
  effectOf,
  pathMethods,
} from './effects.ts';
import { bounded, byName, lookup } from './command.ts';
import { hole } from './marks.ts';

/** Something a program does: a command, shell code, code of its own language, or what cannot be known. */
export type Action = (
  | { readonly kind: 'argv'; readonly argv: readonly string[]; readonly content?: string }
  | { readonly kind: 'shell' | 'code'; readonly text: string }
  | { readonly kind: 'unknown'; readonly what: string }
) & {
  /** Offset in the program of the call that does it. */
  readonly at?: number;
};

const maxNodes = 20_000;
/** Nodes that are walked again for calls of the program's own functions, and calls within calls. */
const maxReplayed = 10_000;
const maxDepth = 4;

/** Acts of a function that is called with anything. */
interface Definition {
  readonly kind: 'function';
  readonly node: Node;
  readonly actions: readonly (Action | Definition)[];
}

/**
 * Walks a Python or JavaScript program from top to bottom; functions are walked where they stand, and where they are called with what
 * the call gives them. Only the latter counts of one that is called by its name alone.
 */
export function actionsOf(root: Node): readonly Action[] {
  const program = new Program();
  program.value(root);
  return program.known();
}

/** A socket whose other side is not known yet. */
const plainSocket = { kind: 'argv', argv: ['nc', hole] } as const;
/** Names by which a program finds its own functions. */
const reflecting =
  /^(?:globals|locals|vars|eval|exec|setattr|__main__|__builtins__|inspect|gc|globalThis|this|window|modules|__dict__|__globals__|f_globals|f_locals)$/;
/** Of a socket: names its other side, or the address that it listens on. */
const reaching = /^(?:connect|connect_ex|bind)$/;

class Program {
  actions: (Action | Definition)[] = [];
  readonly #names = new Map<string, Abstract>();
  readonly #functions = new Map<string, Node>();
  readonly #called = new Set<Node>();
  /** Functions that may be called in other ways. */
  readonly #handedOn = new Set<Node>();
  readonly #running: Node[] = [];
  #nodes = 0;
  #replayed = 0;
  /** Offset of the call that is looked at. */
  #at = 0;
  /** It looks its own functions up, so that any may be called with anything. */
  #reflects = false;
  /** Whether its text names whom its sockets reach. */
  #reaches = false;

  /** Lists its actions; a socket alone does nothing where the text names its peer. */
  known(): readonly Action[] {
    const all = this.#flat(this.actions);
    return this.#reaches ? all.filter((one) => one.kind !== 'argv' || one.argv !== plainSocket.argv) : all;
  }

  #flat(actions: readonly (Action | Definition)[]): readonly Action[] {
    return actions.flatMap((one) => {
      if (one.kind !== 'function') return [one];
      return this.#called.has(one.node) && !this.#handedOn.has(one.node) && !this.#reflects ? [] : this.#flat(one.actions);
    });
  }

  #isOver(): boolean {
    const running = this.#running.at(-1);
    if (running === undefined) return (this.#nodes += 1) > maxNodes;
    this.#replayed += 1;
    if (this.#replayed > maxReplayed) for (const one of this.#running) this.#handedOn.add(one);
    return this.#replayed > maxReplayed;
  }

  noticed(property: string): void {
    if (reflecting.test(property)) this.#reflects = true;
  }

  /** A decorator may do anything with what it is given. */
  decorate(node: Node): Abstract {
    for (const one of named(node)) {
      this.value(one);
      this.#handedOn.add(one);
    }
    return nothingKnown;
  }

  define(node: Node, name = child(node, 'name')?.text ?? ''): Abstract {
    const outer = this.actions;
    this.actions = [];
    const other = this.#functions.get(name);
    if (other !== undefined) this.#handedOn.add(other).add(node);
    this.#functions.set(name, node);
    for (const one of [child(node, 'parameters'), child(node, 'body')]) if (one !== null) this.value(one);
    outer.push({ kind: 'function', node, actions: this.actions });
    this.actions = outer;
    return nothingKnown;
  }

  /** Walks the function that a call names with the values of the call; false where it names none, or they are not in plain sight. */
  #ownCall(callee: Node | null, list: Node | null): boolean {
    const node = callee?.type === 'identifier' && !this.#names.has(callee.text) ? this.#functions.get(callee.text) : undefined;
    const declared = node === undefined ? null : child(node, 'parameters');
    if (node === undefined || declared === null || list === null) return false;
    const given = named(list).filter(({ type }) => type !== 'comment');
    const parameters = named(declared);
    const rest = parameters.findIndex(({ type }) => type === 'list_splat_pattern');
    const plain =
      given.every(({ type }) => !/splat|spread/.test(type)) && parameters.every(({ type }, at) => at === rest || !type.endsWith('pattern'));
    if (!plain || this.#running.length >= maxDepth) return false;
    const args = given.map((one) => ({
      by: one.type === 'keyword_argument' ? child(one, 'name')?.text : undefined,
      value: this.value(one.type === 'keyword_argument' ? (child(one, 'value') ?? one) : one),
    }));
    const places = args.filter(({ by }) => by === undefined);
    const bound = parameters.map((one, at): readonly [string, Abstract] => {
      if (at === rest) return [named(one)[0]?.text ?? '', { kind: 'list', items: places.slice(at).map(({ value }) => value) }];
      const name = (child(one, 'name') ?? (one.type === 'typed_parameter' ? named(one)[0] : undefined) ?? one).text;
      const usual = child(one, 'value');
      return [
        name,
        ((rest === -1 || at < rest ? places[at] : undefined) ?? args.find(({ by }) => by === name))?.value ??
          (usual === null ? nothingKnown : this.value(usual)),
      ];
    });
    this.#replay(node, new Map(bound));
    return true;
  }

  #replay(node: Node, bound: ReadonlyMap<string, Abstract>): void {
    const before = [...bound.keys()].map((name) => [name, this.#names.get(name)] as const);
    for (const [name, value] of bound) this.#names.set(name, value);
    this.#called.add(node);
    this.#running.push(node);
    const body = child(node, 'body');
    if (body !== null) this.value(body);
    this.#running.pop();
    for (const [name, value] of before)
      if (value === undefined) this.#names.delete(name);
      else this.#names.set(name, value);
  }

  value(node: Node): Abstract {
    if (this.#isOver()) return nothingKnown;
    const kind = lookup(kinds, node.type);
    if (kind !== undefined) return kind(this, node);
    for (const one of named(node)) this.value(one);
    return nothingKnown;
  }

  name(text: string): Abstract {
    const own = this.#functions.get(text);
    if (own !== undefined) this.#handedOn.add(own);
    if (reflecting.test(text)) this.#reflects = true;
    return this.#names.get(text) ?? { kind: 'name', name: text };
  }

  bind(target: Node | null, value: Abstract): Abstract {
    if (target === null) return value;
    if (target.type === 'identifier') this.#names.set(target.text, value);
    else if (target.type === 'object_pattern') {
      for (const one of named(target)) {
        const [key, local] = one.type === 'pair_pattern' ? [child(one, 'key')?.text, child(one, 'value')?.text] : [one.text, one.text];
        if (key !== undefined && local !== undefined && value.kind === 'name')
          this.#names.set(local, { kind: 'name', name: `${value.name}.${key}` });
      }
    } else this.value(target);
    return value;
  }

  import(local: string, name: string): void {
    this.#names.set(local, { kind: 'name', name: name.replace(/^node:/, '').replace(/^fs\/promises/, 'fs') });
  }

  call(node: Node): Abstract {
    const callee = child(node, 'function') ?? child(node, 'constructor');
    const list = child(node, 'arguments');
    if (this.#ownCall(callee, list)) return nothingKnown;
    const self = callee === null ? null : (child(callee, 'object') ?? null);
    const target = callee === null ? nothingKnown : this.value(callee);
    const own = self === null ? null : this.value(self);
    if (callee !== null && own?.kind === 'name' && child(callee, 'property')?.text === 'then') this.#promised(own.name, list);
    const args =
      list === null ? [] : named(list).map((one) => this.value(one.type === 'keyword_argument' ? (child(one, 'value') ?? one) : one));
    const name = target.kind === 'name' ? target.name.replace(/\.promises\./, '.').replace(/\.default\b/, '') : '';
    const method = callee === null ? '' : ((child(callee, 'attribute') ?? child(callee, 'property'))?.text ?? '');
    this.#at = node.start;
    const loaded = this.#loads(name, args);
    if (loaded !== null) return loaded;
    const constant = constantCall(name === '' ? `.${method}` : name, own, args);
    if (constant !== null && !(own?.kind === 'text' && own.path === true && lookup(pathMethods, method) !== undefined && args.length < 2))
      return constant;
    this.#act(name, method, own, args, list);
    return nothingKnown;
  }

  #does(action: Action): void {
    this.actions.push({ ...action, at: this.#at });
  }

  /** `import('x').then((m) => …)`: the parameter is the module. */
  #promised(module: string, list: Node | null): void {
    const callback = list === null ? undefined : named(list)[0];
    const parameter =
      callback === undefined ? null : (child(callback, 'parameter') ?? named(child(callback, 'parameters') ?? callback)[0] ?? null);
    if (parameter !== null && parameter.type !== 'call_expression') this.bind(parameter, { kind: 'name', name: module });
  }

  /** `require('x')`, `__import__('x')`, `getattr(x, 'y')`. */
  #loads(name: string, args: readonly Abstract[]): Abstract | null {
    if (/^(?:require|__import__|importlib\.import_module|import|process\.mainModule\.require)$/.test(name)) {
      const module = asText(args[0]);
      if (module.includes(hole)) this.#does({ kind: 'unknown', what: 'a module is loaded whose name is not known' });
      return { kind: 'name', name: module.replace(/^node:/, '').replace(/^fs\/promises/, 'fs') };
    }
    if (name !== 'getattr' || args[0]?.kind !== 'name') return null;
    const attribute = asText(args[1]);
    if (attribute.includes(hole)) this.#does({ kind: 'unknown', what: 'a function is called whose name is not known' });
    return { kind: 'name', name: `${args[0].name}.${attribute}` };
  }

  #act(name: string, method: string, own: Abstract | null, args: readonly Abstract[], list: Node | null): void {
    const effect = effectOf(name);
    const methodArgv = own?.kind === 'text' ? lookup(pathMethods, method) : undefined;
    if (methodArgv !== undefined && own !== null) this.#command(methodArgv, [own, ...args]);
    else if (effect === null) {
      if (/^(?:sqlite3|duckdb)\.connect$/.test(name)) this.#database(args);
      else if (reaching.test(method) && args.length > 0) this.#connect(args);
    } else if (name === 'socket.socket') this.#does(plainSocket);
    else if (name === 'socket.create_connection') this.#connect(args);
    else if (effect.kind === 'command') this.#command(effect.argv, args);
    else if (effect.kind === 'shell') this.#does({ kind: 'shell', text: asText(args[0]) });
    else if (effect.kind === 'code') this.#does({ kind: 'code', text: asText(args.at(name === 'Function' ? -1 : 0)) });
    else if (effect.kind === 'open') this.#open(args, list);
    else this.#run(effect.kind, args);
  }

  #command(template: readonly string[], args: readonly Abstract[]): void {
    const argv = template.map((word) => (/^\$\d$/.test(word) ? asText(args[Number(word[1])]) : word));
    const content = argv[0] === 'tee' && args[1]?.kind === 'text' ? args[1].text : undefined;
    this.#does({ kind: 'argv', argv, ...(content === undefined ? {} : { content }) });
  }

  #connect(args: readonly Abstract[]): void {
    const to = args[0]?.kind === 'list' ? asText(args[0].items[0]) : asText(args[0]);
    this.#reaches = true;
    this.#does({ kind: 'argv', argv: ['nc', to] });
  }

  /** A database in a file is written to, not connected to. */
  #database(args: readonly Abstract[]): void {
    const path = asText(args[0]);
    if (path !== '' && path !== ':memory:') this.#does({ kind: 'argv', argv: ['tee', path] });
  }

  #open(args: readonly Abstract[], list: Node | null): void {
    const mode = /mode\s*=\s*["'](\w+)/.exec(list?.text ?? '')?.[1] ?? (args[1]?.kind === 'text' ? args[1].text : 'r');
    this.#does({ kind: 'argv', argv: [/[wax+]/.test(mode) ? 'tee' : 'cat', asText(args[0])] });
  }

  #run(kind: 'argv' | 'spawn', args: readonly Abstract[]): void {
    const [first, second] = args;
    if (kind === 'argv') {
      if (first?.kind === 'list') this.#does({ kind: 'argv', argv: first.items.map(asText) });
      else this.#does({ kind: 'shell', text: asText(first) });
      return;
    }
    const rest = second?.kind === 'list' ? second.items : args.slice(1).filter((one) => one.kind === 'text');
    const words = rest.map(asText);
    // os.execv repeats the program's name as the first of its arguments.
    const repeats = words[0] !== undefined && asText(first).endsWith(words[0]) && words.length > 1;
    this.#does({ kind: 'argv', argv: [asText(first), ...(repeats ? words.slice(1) : words)] });
  }
}

type Kind = (program: Program, node: Node) => Abstract;

function stringNode(program: Program, node: Node): Abstract {
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

function member(program: Program, node: Node): Abstract {
  const object = child(node, 'object') ?? child(node, 'value');
  const of = object === null ? nothingKnown : program.value(object);
  const property = (child(node, 'attribute') ?? child(node, 'property'))?.text;
  if (property !== undefined) {
    program.noticed(property);
    if (of.kind !== 'name') return nothingKnown;
    return { kind: 'name', name: `${of.name}.${property}` };
  }
  const index = child(node, 'subscript') ?? child(node, 'index');
  const key = index === null ? nothingKnown : program.value(index);
  if (of.kind === 'text' && index?.text === '::-1') return textOf(Array.from(of.text).reverse().join(''));
  if (of.kind === 'list') return of.items[Number(index?.text)] ?? nothingKnown;
  return of.kind === 'name' && key.kind === 'text' ? { kind: 'name', name: `${of.name}.${key.text}` } : nothingKnown;
}

function binary(program: Program, node: Node): Abstract {
  const [left, right] = [child(node, 'left'), child(node, 'right')].map((one) => (one === null ? nothingKnown : program.value(one)));
  const operator = node.children.find((one) => !one.named)?.text;
  if (left?.kind === 'list' && right?.kind === 'list') return listOf([...left.items, ...right.items]);
  if (operator === '+' && (left?.kind === 'text' || right?.kind === 'text')) return textOf(asText(left) + asText(right));
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

/** `for x in y`: each name on the left may be each member of what is on the right. */
function forEach(program: Program, node: Node): Abstract {
  const [left, right] = [child(node, 'left'), child(node, 'right')];
  const value = right === null ? nothingKnown : program.value(right);
  // The body is walked once: with a member that leads elsewhere where there is one.
  const items = value.kind === 'list' ? value.items : [value];
  const member = items.find((one) => one.kind !== 'text' || /^[/~]|\.\./.test(one.text)) ?? items[0] ?? nothingKnown;
  for (const one of left === null ? [] : walk(left)) if (one.type === 'identifier') program.bind(one, member);
  for (const one of named(node)) if (one !== left && one !== right) program.value(one);
  return nothingKnown;
}

/** The clauses of a comprehension stand behind the expression that uses their names. */
function comprehension(program: Program, node: Node): Abstract {
  const clauses = named(node).filter((one) => one.type === 'for_in_clause');
  for (const one of [...clauses, ...named(node).filter((one) => !clauses.includes(one))]) program.value(one);
  return nothingKnown;
}

function bind(program: Program, node: Node): Abstract {
  const fn = node.type === 'variable_declarator' ? child(node, 'value') : null;
  if (fn !== null && /^(?:arrow_function|function_expression)$/.test(fn.type)) return program.define(fn, child(node, 'name')?.text);
  const right = child(node, 'right') ?? child(node, 'value');
  return program.bind(child(node, 'left') ?? child(node, 'name'), right === null ? nothingKnown : program.value(right));
}

function imports(program: Program, node: Node): Abstract {
  for (const [local, name] of importsOf(node)) program.import(local, name);
  return nothingKnown;
}

const values = (program: Program, node: Node): readonly Abstract[] => named(node).map((one) => program.value(one));

const kinds = byName<Kind>(
  ['identifier', (program, node) => program.name(node.text)],
  ['import', (_, node) => ({ kind: 'name', name: node.text })],
  ['string template_string', stringNode],
  ['integer unary_operator', (_, node) => textOf(node.text)],
  ['number', (_, node) => textOf(/^0x/i.test(node.text) ? String(Number(node.text)) : node.text)],
  ['unary_expression', (program, node) => (values(program, node), textOf(node.text))],
  ['concatenated_string', (program, node) => textOf(values(program, node).map(asText).join(''))],
  ['attribute member_expression subscript subscript_expression', member],
  ['binary_operator binary_expression', binary],
  ['list tuple array', (program, node) => ({ kind: 'list', items: values(program, node) })],
  ['parenthesized_expression await_expression', (program, node) => values(program, node).at(-1) ?? nothingKnown],
  ['assignment named_expression assignment_expression variable_declarator', bind],
  ['import_statement import_from_statement', imports],
  ['decorated_definition', (program, node) => program.decorate(node)],
  ['function_definition function_declaration', (program, node) => program.define(node)],
  ['for_statement for_in_statement for_in_clause', forEach],
  ['list_comprehension set_comprehension generator_expression', comprehension],
  ['call call_expression new_expression', (program, node) => program.call(node)],
);
