import { child, named, type Node } from '../syntax/node.ts';
import { changes, codeOf, commandOf, connectionOf, databaseOf, ofTable, openOf, plainSocket, runOf, type Action } from './calls.ts';
import { asText, constantCall, effectOf, nothingKnown, pathMethods, type Abstract } from './effects.ts';
import { kinds, several, type Walk } from './kinds.ts';
import { lookup } from './command.ts';
import { hole } from './marks.ts';

/** Nodes of a program; a command has fewer. */
const maxNodes = 100_000;
/** Nodes that are walked again for calls of the program's own functions, and calls within calls. */
const maxReplayed = 10_000;
/** The same for further members that loops go over. */
const maxLooped = 20_000;
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

/** Names by which a program finds its own functions. */
const reflecting =
  /^(?:globals|locals|vars|eval|exec|setattr|__main__|__builtins__|inspect|gc|globalThis|this|window|modules|__dict__|__globals__|f_globals|f_locals)$/;
/** Of a socket: names its other side, or the address that it listens on. */
const reaching = /^(?:connect|connect_ex|bind)$/;

/** Tells actions of a loop apart: those of one call count once, for the first member is the one that leads elsewhere. */
function shapeOf(one: Action | Definition): string {
  if (one.kind === 'function') return `function ${one.node.start}`;
  return one.kind === 'argv' && one.ofCall === true ? `${one.at} ${one.argv[0]}` : JSON.stringify(one);
}

class Program implements Walk {
  actions: (Action | Definition)[] = [];
  readonly #names = new Map<string, Abstract>();
  readonly #functions = new Map<string, Node>();
  readonly #called = new Set<Node>();
  /** Functions that may be called in other ways. */
  readonly #handedOn = new Set<Node>();
  readonly #running: Node[] = [];
  #nodes = 0;
  #replayed = 0;
  #looped = 0;
  /** It walks the body of a loop again. */
  #loops = false;
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
    if (this.#loops) return (this.#looped += 1) > maxLooped;
    const running = this.#running.at(-1);
    if (running === undefined) {
      if ((this.#nodes += 1) === maxNodes) this.#does({ kind: 'unknown', what: 'a program is too long to judge' });
      return this.#nodes >= maxNodes;
    }
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
    else if (several.test(target.type) && value.kind === 'list') {
      for (const [at, one] of named(target).entries()) this.bind(one, value.items[at] ?? nothingKnown);
    } else if (target.type === 'object_pattern') {
      for (const one of named(target)) {
        const [key, local] = one.type === 'pair_pattern' ? [child(one, 'key')?.text, child(one, 'value')?.text] : [one.text, one.text];
        if (key !== undefined && local !== undefined && value.kind === 'name')
          this.#names.set(local, { kind: 'name', name: `${value.name}.${key}` });
      }
    } else {
      const of = child(target, 'value') ?? child(target, 'object');
      this.value(target);
      if (of !== null) this.#forget(this.value(of));
    }
    return value;
  }

  /** A list or table that was changed is not what its text says. */
  #forget(value: Abstract): void {
    if (value.kind !== 'list' && value.kind !== 'record') return;
    for (const [name, known] of this.#names) if (known === value) this.#names.set(name, nothingKnown);
  }

  /**
   * Walks the body of a loop for each member. Those beyond the bound are one that nothing is known of: what depends on it, only running
   * would tell.
   */
  loop(members: readonly Abstract[], walk: (member: Abstract) => void): void {
    const [first = nothingKnown, ...others] = members;
    walk(first);
    const [inner, outer] = [this.#loops, this.actions];
    const known = new Set(outer.map(shapeOf));
    const further = (member: Abstract, loops: boolean): void => {
      this.actions = [];
      this.#loops = loops;
      walk(member);
      this.#loops = inner;
      outer.push(...this.actions.filter((action) => !known.has(shapeOf(action))));
      for (const action of this.actions) known.add(shapeOf(action));
    };
    for (const one of others) {
      if (this.#looped > maxLooped) break;
      further(one, true);
    }
    if (!inner && others.length > 0 && this.#looped > maxLooped) further(nothingKnown, false);
    this.actions = outer;
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
    const loaded = this.#loads(name, args) ?? ofTable(name === '' ? `.${method}` : name, own, args);
    if (loaded !== null) return loaded;
    if (own?.kind === 'content' && /^(?:read|decode|toString)$/.test(method)) return own;
    if (name === 'compile' && args[0]?.kind === 'content') return args[0];
    if (changes(own, method)) this.#forget(own);
    const constant = constantCall(name === '' ? `.${method}` : name, own, args);
    if (constant !== null && !(own?.kind === 'text' && own.path === true && lookup(pathMethods, method) !== undefined && args.length < 2))
      return constant;
    return this.#act(name, method, own, args, list);
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

  #act(name: string, method: string, own: Abstract | null, args: readonly Abstract[], list: Node | null): Abstract {
    const effect = effectOf(name);
    const methodArgv = own?.kind === 'text' ? lookup(pathMethods, method) : undefined;
    if (methodArgv !== undefined && own !== null) {
      this.#does(commandOf(methodArgv, [own, ...args]));
      return method.startsWith('read_') ? { kind: 'content', path: asText(own) } : nothingKnown;
    }
    if (effect === null) {
      if (/^(?:sqlite3|duckdb)\.connect$/.test(name)) for (const one of databaseOf(args)) this.#does(one);
      else if (reaching.test(method) && args.length > 0) this.#connect(args);
    } else if (name === 'socket.socket') this.#does(plainSocket);
    else if (name === 'socket.create_connection') this.#connect(args);
    else if (effect.kind === 'command') this.#does(commandOf(effect.argv, args));
    else if (effect.kind === 'shell') this.#does({ kind: 'shell', text: asText(args[0]) });
    else if (effect.kind === 'code') this.#does(codeOf(args.at(name === 'Function' ? -1 : 0)));
    else if (effect.kind === 'open') {
      const { writes, action } = openOf(args, list);
      this.#does(action);
      return writes ? nothingKnown : { kind: 'content', path: asText(args[0]) };
    } else this.#does(runOf(effect.kind, args));
    return /^fs\.readFile(?:Sync)?$/.test(name) ? { kind: 'content', path: asText(args[0]) } : nothingKnown;
  }

  #connect(args: readonly Abstract[]): void {
    this.#reaches = true;
    this.#does(connectionOf(args));
  }
}
