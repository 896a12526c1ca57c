/** Objects and methods of Python that would decide what assertions say. */
import { child, named, walk, type Node } from '../syntax/node.ts';
import type { Override } from '../verdict/types.ts';
import { classesOf, parametersOf, type Class, type Method } from './python/classes.ts';
import { Evidence, provesSame, returnsOf, type Fact, type Return } from './python/evidence.ts';
import { localsOf } from './python/locals.ts';

/** Lists the parts of a Python module that decide by themselves how assertions end. */
export function pythonOverrides(root: Node): readonly Override[] {
  const classes = classesOf(root);
  const family: Family = new Map(classes.map((one) => [one.name, one]));
  const out: Override[] = [];
  for (const cls of classes) {
    // The bases belong to it: the same method may be honest in another class.
    const bases = cls.bases.map(({ text }) => text).join();
    const add = (name: string, what: string, text: string): void => {
      out.push({ where: `${cls.name}.${name}`, what, text: `${bases} ${text}` });
    };
    for (const method of cls.methods) {
      const what = suspicionOf(method, cls, family);
      if (what !== null) add(method.name, what, withoutRaised(method.node));
    }
    for (const [name, value] of cls.values)
      if (decisive.has(name) && value.type !== 'none') add(name, 'is a value whose answers its text does not tell', value.text);
  }
  return [...out, ...outsideOf(root), ...moduleAttributes(root)];
}

/** Returns the text of a method without what it raises: no message of an error decides an assertion. */
function withoutRaised(node: Node): string {
  let [out, at] = ['', 0];
  for (const one of walk(node)) {
    if (one.type !== 'raise_statement') continue;
    out += `${node.text.slice(at, one.start - node.start)}raise`;
    at = one.end - node.start;
  }
  return out + node.text.slice(at);
}

/** `__getattr__` of a module: it makes a name for whatever is asked. */
function moduleAttributes(root: Node): readonly Override[] {
  return root.children.flatMap((node) => {
    const name = node.children.find(({ field }) => field === 'name')?.text;
    if (node.type !== 'function_definition' || name !== '__getattr__') return [];
    const [given = ''] = parametersOf(node);
    const honest = returnsOf(node).every(({ value, facts }) =>
      [value?.text ?? given, ...facts.map(({ condition }) => condition.text)].some((text) => new RegExp(`\\b${given}\\b`).test(text)),
    );
    return honest ? [] : [{ where: name, what: 'answers for names of any kind', text: node.text }];
  });
}

/** Types whose values tests write down: an object that is one and compares otherwise equals what it is not. */
const valueTypes =
  /^(?:\w+\.)*(?:int|float|complex|bool|str|bytes|bytearray|list|tuple|dict|set|frozenset|Decimal|Fraction|Number|Complex|Real|Rational|Integral|date|time|datetime|timedelta|UUID|Path|PurePath|PosixPath|OrderedDict|defaultdict|Counter|deque|ChainMap|UserDict|UserList|UserString|NamedTuple|IntEnum|StrEnum|IntFlag|type|ABCMeta|EnumMeta|EnumType)$/;
const decorations = /^(?:(?:\w+\.)*(?:override|overload|final|abstractmethod|no_type_check))$/;

const equality = new Set(['__eq__', '__ne__']);
const order = new Set(['__lt__', '__le__', '__gt__', '__ge__', '__cmp__']);
const typeChecks = new Set(['__instancecheck__', '__subclasscheck__', '__subclasshook__', '__class__']);
const attributes = new Set(['__getattr__', '__getattribute__']);
/** Methods that `assertAlmostEqual` and `isclose` are made of. */
const differences = new Set(['__sub__', '__rsub__', '__abs__', '__round__']);

/** Methods by which an object decides how it compares, whether it holds, and of which type it is. */
const decisive: ReadonlySet<string> = new Set([...equality, ...order, ...typeChecks, '__bool__', '__contains__']);

type Family = ReadonlyMap<string, Class>;

/** Returns the reason why a person has to look at a method of a class; null when its own text shows that none is needed. */
function suspicionOf(method: Method, cls: Class, family: Family): string | null {
  const { name } = method;
  if (typeChecks.has(name)) return 'decides what its objects pass for in a type check';
  if (!decisive.has(name) && !attributes.has(name) && !differences.has(name)) return null;
  if (method.decorators.some((one) => !decorations.test(one))) return 'is replaced by its decorator';
  const change = changes(method);
  if (change !== null) return `${change} while an assertion asks it`;
  const base = attributes.has(name) || differences.has(name) || name === '__contains__' ? null : valueBase(cls, family);
  if (equality.has(name)) return equalityOf(method, cls, base);
  if (base !== null) return `overrides that of ${base}, whose values tests write down`;
  if (order.has(name)) return ordersOf(method, cls);
  return answers(method, cls);
}

/** The built-in value type that a class is one of, through classes of the same file. */
function valueBase(cls: Class, family: Family, seen: ReadonlySet<string> = new Set()): string | null {
  for (const one of cls.bases) {
    const text =
      one.type === 'call' ? (child(one, 'function')?.text ?? '') : one.type === 'subscript' ? (child(one, 'value')?.text ?? '') : one.text;
    if (valueTypes.test(text) || /^(?:\w+\.)?namedtuple$/.test(text) || (one.type === 'call' && one.text.startsWith('type('))) return text;
    const known = seen.has(text) ? undefined : family.get(text);
    const base = known === undefined ? null : valueBase(known, family, new Set([...seen, text]));
    if (base !== null) return base;
  }
  return null;
}

/** An assertion asks once: what counts or turns round meanwhile answers each question as it likes. */
function changes({ name, node }: Method): string | null {
  const [self, other = ''] = parametersOf(node);
  const mayRename = new RegExp(attributes.has(name) ? `\\b${other}\\b` : '(?!)');
  const locals = localsOf(node);
  for (const one of walk(node)) {
    if (/^(?:global_statement|nonlocal_statement|delete_statement)$/.test(one.type)) return 'changes its own state';
    if (/^(?:yield|await)$/.test(one.type)) return 'answers with what is not decided yet';
    const target = /^(?:assignment|augmented_assignment|named_expression)$/.test(one.type)
      ? (child(one, 'left') ?? child(one, 'name'))
      : null;
    const targets = target === null ? [] : target.type === 'identifier' ? [target] : [target, ...named(target)];
    if (targets.some((one) => /^(?:attribute|subscript)$/.test(one.type) && !locals.has(rootOf(one)))) return 'changes its own state';
    // The name of an attribute may be put into its usual form.
    const isRenamed = mayRename.test(child(one, 'right')?.text ?? '');
    if (targets.some(({ type, text }) => type === 'identifier' && (text === self || (text === other && !isRenamed))))
      return 'puts something else in place of what it compares';
  }
  return node.children.some(({ type }) => type === 'async') ? 'answers with what is not decided yet' : null;
}

/** The name that a chain of attributes and items begins with. */
function rootOf(node: Node): string {
  const inner = child(node, 'object') ?? child(node, 'value');
  return inner === null ? node.text : rootOf(inner);
}

function equalityOf({ name, node }: Method, cls: Class, base: string | null): string | null {
  const whose =
    base === null ? 'without comparing the state of both objects' : `by another rule than that of ${base}, whose values tests write down`;
  if (name === '__eq__') return provesSame(node, cls, { ofBase: base !== null }) ? null : `can answer true ${whose}`;
  const evidence = new Evidence(node, cls, { ofBase: base !== null });
  const known = ({ condition, truth }: Fact): boolean => evidence.same(condition, truth);
  const honest = ({ value, facts }: Return): boolean => value !== null && (evidence.same(value, false) || facts.some(known));
  return returnsOf(node).every(honest) ? null : `can answer false ${whose}`;
}

/** A constant is an answer only where the types differ, or where a comparison of both has been made. */
function ordersOf({ node }: Method, cls: Class): string | null {
  const evidence = new Evidence(node, cls);
  const other = parametersOf(node)[1] ?? '';
  const asksType = ({ condition }: Fact): boolean =>
    new RegExp(`\\b(?:isinstance|type)\\(\\s*${other}\\b|\\b${other}\\.__class__\\b`).test(condition.text);
  const honest = ({ value, facts }: Return): boolean => {
    if (value === null || value.text === 'NotImplemented' || evidence.orders(value)) return true;
    if (value.type !== 'true' && value.type !== 'false') return false;
    return facts.some(({ condition }) => evidence.orders(condition)) || (value.type === 'false' && facts.some(asksType));
  };
  return returnsOf(node).every(honest) ? null : 'can answer without comparing the state of both objects';
}

/** Returns the fault of an answer that lacks: in `__bool__` the object itself, in `__contains__` the item, in `__getattr__` the name. */
function answers({ name, node }: Method, cls: Class): string | null {
  const [self = '', given] = parametersOf(node);
  const alone = name === '__bool__' || name === '__abs__' || name === '__round__';
  const needed = attributes.has(name) ? [given ?? ''] : alone || given === undefined ? [self] : [self, given];
  const bound = [...walk(node)].filter(({ type }) => type === 'assignment' || type === 'for_statement');
  const local = bound.map((one) => [child(one, 'left')?.text ?? '', child(one, 'right')?.text ?? ''] as const);
  const mentions = (text: string, word: string): boolean => word !== '' && new RegExp(`(?<![\\w.])${word}\\b`).test(text);
  const spelled = (text: string): string => [text, ...local.filter(([key]) => mentions(text, key)).map(([, value]) => value)].join(' ');
  const honest = ({ value, facts }: Return): boolean => {
    if (value === null || value.text.startsWith('super(') || value.text === 'NotImplemented') return true;
    if (value.type === 'false' && !attributes.has(name)) return name !== '__bool__' || isPlain(cls);
    const held = facts
      .filter(({ condition, truth }) => truth && condition.type === 'comparison_operator')
      .map(({ condition }) => condition.text);
    const conditions = attributes.has(name) ? held : facts.map(({ condition }) => condition.text);
    const text = spelled([value.text, ...conditions].join(' '));
    return !tautology(value) && needed.every((word) => mentions(text, word));
  };
  if (returnsOf(node).every(honest)) return null;
  return attributes.has(name) ? 'answers for attributes of any name' : 'can answer without looking at the object';
}

/** A sentinel is false, has no value and does nothing else. */
const isPlain = ({ methods, bases }: Class): boolean =>
  bases.every(({ text }) => text === 'object' || /(?:^|\.)Enum$/.test(text)) &&
  methods.every(({ name }) => ['__bool__', '__repr__', '__str__', '__copy__', '__deepcopy__', '__reduce__', '__new__'].includes(name));

function tautology(value: Node): boolean {
  return [...walk(value)].some((one) => {
    if (one.type === 'boolean_operator')
      return (
        one.children.some(({ type }) => type === 'or') &&
        named(one).some(({ type }) => type === 'true' || type === 'integer' || type === 'string')
      );
    if (one.type !== 'comparison_operator') return false;
    const operands = one.children.filter(({ field, named }) => named && field !== 'operators').map(({ text }) => text);
    return operands.length === 2 && operands[0] === operands[1];
  });
}

/** Libraries whose objects equal what they are compared with. */
const matchers = /^(?:mock|asynctest|dirty_equals|callee|hamcrest|doublex|flexmock)(?:\.|$)/;
/** Names by which `unittest` decides assertions. */
const ofTests = /^(?:failureException|addTypeEqualityFunc|_baseAssertEqual|_getAssertEqualityFunc|assert[A-Z]\w*)$/;
const abstract =
  /^(?:(?:numbers|collections\.abc|abc)\.)?(?:Number|Complex|Real|Rational|Integral|Sequence|MutableSequence|Mapping|MutableMapping|Set|MutableSet|Iterable|Iterator|Callable|Hashable)$/;

/** Ways to decide an assertion that are no method of a class: names, imports, assignments, classes that are made. */
function outsideOf(root: Node): readonly Override[] {
  const out: Override[] = [];
  visit(root, null, (where, what, text) => out.push({ where, what, text }));
  return out;
}

type Found = (where: string, what: string, text: string) => void;

function visit(node: Node, parent: Node | null, found: Found): void {
  const failed = node.type === 'raise_statement' ? named(node).find(failsTest) : undefined;
  if (failed !== undefined) return visit(child(failed, 'arguments') ?? failed, failed, found);
  if (node.type === 'import_statement' || node.type === 'import_from_statement') imported(node, found);
  else if (node.type === 'assignment') assigned(node, found);
  else if (node.type === 'call') called(node, found);
  else if (node.type === 'string' || node.type === 'concatenated_string') named_(node, parent, found);
  else if (node.type === 'identifier' && node.text === 'failureException')
    found(node.text, 'decides what a failed assertion is', node.text);
  for (const one of node.children)
    if (node.type !== 'concatenated_string') visit(one, node.type === 'argument_list' ? parent : node, found);
}

/** Reports whether a call is `self.failureException(…)`, which fails the test where it is raised. */
const failsTest = ({ type, text }: Node): boolean => type === 'call' && /^\w+\.failureException\(/.test(text);

function imported(node: Node, found: Found): void {
  const module = child(node, 'module_name')?.text ?? '';
  const names = named(node).map((one) => (child(one, 'name') ?? one).text);
  const matching = [module, ...(module === '' ? names : [])].find((one) => matchers.test(one));
  if (matching !== undefined) found(matching, 'makes objects that equal what they are compared with', node.text);
  else if (names.includes('ANY') && /mock/.test(module)) found('ANY', 'equals what it is compared with', node.text);
}

function assigned(node: Node, found: Found): void {
  const left = child(node, 'left');
  for (const target of left === null ? [] : left.type === 'attribute' || left.type === 'subscript' ? [left] : named(left)) {
    const attribute = target.type === 'attribute' ? (child(target, 'attribute')?.text ?? '') : '';
    if (decisive.has(attribute)) found(target.text, 'is put in place from outside of the class', node.text);
    else if (ofTests.test(attribute)) found(target.text, 'decides how assertions end', node.text);
    else if (target.type === 'subscript' && child(target, 'value')?.text === 'locals()')
      found('locals()', 'gives names to what is only known while it runs', node.text);
  }
}

function called(node: Node, found: Found): void {
  const callee = child(node, 'function');
  const list = child(node, 'arguments');
  const given = list === null ? [] : named(list);
  const [, , members] = given;
  const isOpen =
    members !== undefined && (members.type !== 'dictionary' || members.children.some(({ type }) => type === 'dictionary_splat'));
  if (callee?.text === 'type' && isOpen) found('type', 'makes a class whose methods are only known while it runs', node.text);
  else if (/^(?:types\.)?new_class$/.test(callee?.text ?? '')) found('new_class', 'makes a class while it runs', node.text);
  if (callee?.type !== 'attribute') return;
  const method = child(callee, 'attribute')?.text ?? '';
  if (method === 'register' && abstract.test(child(callee, 'object')?.text ?? ''))
    found(callee.text, 'lets objects pass for another type', node.text);
  else if (ofTests.test(method) && !method.startsWith('assert')) found(callee.text, 'decides how assertions end', node.text);
}

/** Finds `'__eq__'` as a text: it is for code that makes a class or sets an attribute; `hasattr` only asks. */
function named_(node: Node, parent: Node | null, found: Found): void {
  const text = [...walk(node)]
    .filter(({ type }) => type === 'string_content')
    .map((one) => one.text)
    .join('');
  if (!decisive.has(text) && text !== 'failureException') return;
  const asks = parent?.type === 'call' && /^(?:hasattr|getattr)$/.test(child(parent, 'function')?.text ?? '');
  if (!asks) found(text, 'is named as a text', parent?.text ?? node.text);
}
