import { child, named, walk, type Node } from '../../syntax/node.ts';
import { parametersOf, type Class, type Method } from './classes.ts';
import { Evidence, provesSame, returnsOf, type Fact, type Return } from './evidence.ts';
import { localsOf } from './locals.ts';

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
export const decisive: ReadonlySet<string> = new Set([...equality, ...order, ...typeChecks, '__bool__', '__contains__']);

export interface Family {
  /** All classes of the module, by name. */
  readonly classes: ReadonlyMap<string, Class>;
}

/** Returns the reason why a person has to look at a method of a class; null when its own text shows that none is needed. */
export function suspicionOf(method: Method, cls: Class, family: Family): string | null {
  const { name, node } = method;
  if (typeChecks.has(name)) return 'decides what its objects pass for in a type check';
  if (!decisive.has(name) && !attributes.has(name) && !differences.has(name)) return null;
  if (method.decorators.some((one) => !decorations.test(one))) return 'is replaced by its decorator';
  const change = changes(node);
  if (change !== null) return `${change} while an assertion asks it`;
  const base = attributes.has(name) || differences.has(name) || name === '__contains__' ? null : valueBase(cls, family);
  if (equality.has(name)) return equalityOf(method, cls, base);
  if (base !== null) return `overrides that of ${base}, whose values tests write down`;
  if (order.has(name)) return ordersOf(method, cls);
  return answers(method, cls);
}

/** The built-in value type that a class is one of, through classes of the same file. */
function valueBase(cls: Class, { classes }: Family, seen: ReadonlySet<string> = new Set()): string | null {
  for (const one of cls.bases) {
    const text =
      one.type === 'call' ? (child(one, 'function')?.text ?? '') : one.type === 'subscript' ? (child(one, 'value')?.text ?? '') : one.text;
    if (valueTypes.test(text) || /^(?:\w+\.)?namedtuple$/.test(text) || (one.type === 'call' && one.text.startsWith('type('))) return text;
    const known = seen.has(text) ? undefined : classes.get(text);
    const base = known === undefined ? null : valueBase(known, { classes }, new Set([...seen, text]));
    if (base !== null) return base;
  }
  return null;
}

/** An assertion asks once: what counts or turns round meanwhile answers each question as it likes. */
function changes(node: Node): string | null {
  const [self, other] = parametersOf(node);
  const locals = localsOf(node);
  for (const one of walk(node)) {
    if (/^(?:global_statement|nonlocal_statement|delete_statement)$/.test(one.type)) return 'changes its own state';
    if (/^(?:yield|await)$/.test(one.type)) return 'answers with what is not decided yet';
    const target = /^(?:assignment|augmented_assignment|named_expression)$/.test(one.type)
      ? (child(one, 'left') ?? child(one, 'name'))
      : null;
    const targets = target === null ? [] : target.type === 'identifier' ? [target] : [target, ...named(target)];
    if (targets.some((one) => /^(?:attribute|subscript)$/.test(one.type) && !locals.has(rootOf(one)))) return 'changes its own state';
    if (targets.some(({ type, text }) => type === 'identifier' && (text === self || text === other)))
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
