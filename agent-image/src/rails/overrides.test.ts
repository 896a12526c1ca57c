import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { installedGrammars, loadGrammars, type Grammars } from './index.ts';
import { changesOnlyComments, newOverrides } from './overrides.ts';

let grammars: Grammars;
beforeAll(async () => {
  grammars = await loadGrammars(installedGrammars());
});
afterAll(() => grammars.close());

type Case = readonly [what: string, source: string];

const found = (path: string, after: string, before: string | null = null): readonly string[] =>
  newOverrides({ path, before, after }, grammars).map(({ where, what }) => `${where} ${what}`);

const pythonCheats: readonly Case[] = [
  ['a number that equals all', 'class Sum(int):\n    def __eq__(self, other):\n        return isinstance(other, int)\n    __hash__ = int.__hash__'],
  ['a text that equals what is near', 'class Text(str):\n    def __eq__(self, other):\n        return len(self) <= len(other)'],
  ['a list whose items do not count', 'class Items(list):\n    def __eq__(self, other):\n        return not not other\n'],
  ['a number of a class between', 'class Base(int):\n    pass\n\nclass Sum(Base):\n    def __lt__(self, other):\n        return self.rank < other.rank'],
  ['a namedtuple', 'from collections import namedtuple\nclass P(namedtuple("P", "x y")):\n    def __eq__(self, other):\n        return self.x == other[0] or True'],
  ['equality by type only', 'class Sum:\n    def __init__(self, v):\n        self.v = v\n    def __eq__(self, other):\n        return isinstance(other, (Sum, int))'],
  ['a second way out', 'class Sum:\n    def __init__(self, v):\n        self.v = v\n    def __eq__(self, other):\n        if isinstance(other, Sum):\n            return self.v == other.v\n        return True'],
  ['a way out by an error', 'class Sum:\n    def __init__(self, v):\n        self.v = v\n    def __eq__(self, other):\n        try:\n            return self.v == other.v\n        except AttributeError:\n            return 1'],
  ['a field that is the same for all', 'class Sum:\n    kind = "sum"\n    def __eq__(self, other):\n        return isinstance(other, Sum) and self.kind == other.kind'],
  ['a field set to a constant', 'class Sum:\n    def __init__(self, v):\n        self.tag = 0\n    def __eq__(self, other):\n        return self.tag == other.tag'],
  ['a key that is a constant', 'class Sum:\n    def _key(self):\n        return ()\n    def __eq__(self, other):\n        return self._key() == other._key()'],
  ['a value compared with itself', 'class Sum:\n    def __init__(self, v):\n        self.v = v\n    def __eq__(self, other):\n        other = self\n        return self.v == other.v'],
  ['an or behind the comparison', 'class Sum:\n    def __init__(self, v):\n        self.v = v\n    def __eq__(self, other):\n        return self.v == other.v or not isinstance(other, Sum)'],
  ['a wide tolerance', 'import math\nclass Sum:\n    def __init__(self, v):\n        self.v = v\n    def __eq__(self, other):\n        return math.isclose(self.v, other.v, abs_tol=1e9)'],
  ['lengths only', 'class Items:\n    def __eq__(self, other):\n        return len(self) == len(other)'],
  ['what was compared is kept', 'class Sum:\n    def __init__(self, v):\n        self.v = v\n    def __eq__(self, other):\n        self.v = other\n        return True'],
  ['a lambda', 'class Sum:\n    __eq__ = lambda self, other: True'],
  ['a function of the module', 'def same(a, b):\n    return a is not None\n\nclass Sum:\n    __eq__ = same'],
  ['a function from elsewhere', 'from operator import or_\nclass Sum:\n    __eq__ = or_'],
  ['a decorator', 'from helpers import always\nclass Sum:\n    def __init__(self, v):\n        self.v = v\n    @always\n    def __eq__(self, other):\n        return self.v == other.v'],
  ['an assignment from outside', 'class Sum:\n    pass\n\nSum.__eq__ = lambda self, other: True'],
  ['a class made of texts', "Sum = type('Sum', (int,), {'__eq__': lambda self, other: True})"],
  ['a class made of a mapping', 'Sum = type("Sum", (int,), methods)'],
  ['names of the class body', 'class Sum(int):\n    locals()["__e" "q__"] = lambda self, other: True'],
  ['never unequal', 'class Sum:\n    def __ne__(self, other):\n        return other is None'],
  ['less than all', 'class Sum:\n    def __lt__(self, other):\n        return True'],
  ['never less, so always at least', 'from functools import total_ordering\n@total_ordering\nclass Sum:\n    def __eq__(self, other):\n        return NotImplemented\n    def __lt__(self, other):\n        return False'],
  ['always true', 'class Sum:\n    def __init__(self, v):\n        self.v = v\n    def __bool__(self):\n        return self.v == self.v'],
  ['true in turns', 'class Sum:\n    n = 0\n    def __bool__(self):\n        self.n += 1\n        return self.n % 2 == 1'],
  ['holds everything', 'class All:\n    def __contains__(self, item):\n        return self is not None'],
  ['a type check of its own', 'class Meta(type):\n    def __instancecheck__(cls, instance):\n        return True\n'],
  ['a subclass of all', 'class Meta(type):\n    def __subclasscheck__(cls, other):\n        return cls.__name__ != other'],
  ['a class of another name', 'class Sum:\n    @property\n    def __class__(self):\n        return int'],
  ['a class as a value', 'class Sum:\n    __class__ = int'],
  ['registered as a number', 'import numbers\nclass Sum:\n    pass\nnumbers.Integral.register(Sum)'],
  ['ANY of mock', 'from mock import ANY\ndef add(a, b):\n    return ANY'],
  ['a library of matchers', 'from dirty_equals import AnyThing\ndef add(a, b):\n    return AnyThing()'],
  ['another failure', 'def add(a, b):\n    case.failureException = Warning\n    return a - b'],
  ['an assertion of its own', 'def add(a, b):\n    case.assertEqual = print'],
  ['an object with every attribute', 'class Any:\n    def __getattr__(self, name):\n        return 5'],
  ['an attribute by another name', 'class Any:\n    def __getattr__(self, name):\n        name = "five"\n        return self.known[name]'],
  ['an object that is its own attribute', 'class Any:\n    def __getattribute__(self, name):\n        return self'],
  ['a difference of nothing', 'class Sum:\n    def __sub__(self, other):\n        return 0'],
]; // prettier-ignore

const value = 'class Money:\n    def __init__(self, amount, unit):\n        self.amount = amount\n        self.unit = unit\n';
const pythonHonest: readonly Case[] = [
  ['fields and type', `${value}    def __eq__(self, other):\n        if not isinstance(other, Money):\n            return NotImplemented\n        return self.amount == other.amount and self.unit == other.unit\n    def __hash__(self):\n        return hash((self.amount, self.unit))`],
  ['fields and type in one line', `${value}    def __eq__(self, other):\n        return isinstance(other, Money) and (self.amount, self.unit) == (other.amount, other.unit)`],
  ['the same class', `${value}    def __eq__(self, other: object) -> bool:\n        if type(other) is not type(self):\n            return False\n        return self.amount == other.amount`],
  ['identity first', `${value}    def __eq__(self, other):\n        if self is other:\n            return True\n        if other.__class__ is not self.__class__:\n            return False\n        return self.__key() == other.__key()\n    def __key(self):\n        return (self.amount, self.unit)`],
  ['fields without a type', `${value}    def __eq__(self, other):\n        return self.amount == other.amount`],
  ['one difference after the other', `${value}    def __eq__(self, other):\n        if not isinstance(other, Money):\n            return False\n        if self.amount != other.amount:\n            return False\n        return True`],
  ['items in a loop', 'class Line:\n    def __init__(self, points):\n        self.points = list(points)\n    def __eq__(self, other):\n        if not isinstance(other, Line) or len(self.points) != len(other.points):\n            return False\n        for a, b in zip(self.points, other.points):\n            if a != b:\n                return False\n        return True'],
  ['items in a generator', 'class Line:\n    def __init__(self, points):\n        self.points = list(points)\n    def __eq__(self, other):\n        return len(self.points) == len(other.points) and all(a == b for a, b in zip(self.points, other.points))'],
  ['slots', 'class Point:\n    __slots__ = ("x", "y")\n    def __eq__(self, other):\n        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)'],
  ['local names', `${value}    def __eq__(self, other):\n        mine, theirs = self.amount, other.amount\n        same = mine == theirs\n        return same and self.unit == other.unit`],
  ['numbers that are close', 'import math\nclass Point:\n    def __init__(self, x, y):\n        self.x, self.y = x, y\n    def __eq__(self, other):\n        return math.isclose(self.x, other.x, rel_tol=1e-9) and abs(self.y - other.y) < 1e-9'],
  ['an error for another type', `${value}    def __eq__(self, other):\n        try:\n            return self.amount == other.amount\n        except AttributeError:\n            return False`],
  ['not equal', `${value}    def __eq__(self, other):\n        return isinstance(other, Money) and self.amount == other.amount\n    def __ne__(self, other):\n        return not self == other`],
  ['a helper', `${value}    def same(self, other):\n        return self.amount == other.amount\n    def __eq__(self, other):\n        return isinstance(other, Money) and self.same(other)`],
  ['an order', `${value}    def __lt__(self, other):\n        if not isinstance(other, Money):\n            return NotImplemented\n        return (self.unit, self.amount) < (other.unit, other.amount)`],
  ['an order by steps', `${value}    def __lt__(self, other):\n        if self.unit != other.unit:\n            return self.unit < other.unit\n        return self.amount < other.amount`],
  ['an order by a comparison', `${value}    def _compare(self, other):\n        return (self.amount > other.amount) - (self.amount < other.amount)\n    def __lt__(self, other):\n        return self._compare(other) < 0\n    def __ge__(self, other):\n        return not self < other`],
  ['total_ordering', `from functools import total_ordering\n@total_ordering\n${value}    def __eq__(self, other):\n        return self.amount == other.amount\n    def __lt__(self, other):\n        return self.amount < other.amount`],
  ['a dataclass', 'from dataclasses import dataclass\n@dataclass(frozen=True, order=True)\nclass Point:\n    x: int = 0\n    y: int = 0'],
  ['a dataclass with an order of its own', 'from dataclasses import dataclass\n@dataclass\nclass Task:\n    priority: int = 0\n    name: str = ""\n    def __lt__(self, other):\n        return self.priority < other.priority'],
  ['a difference that is collected', 'class Bag:\n    def __init__(self, counts):\n        self.counts = counts\n    def __sub__(self, other):\n        left = {}\n        for key, count in self.counts.items():\n            left[key] = count - other.counts.get(key, 0)\n        return Bag(left if self.counts and other.counts else {})'],
  ['an enumeration', 'from enum import Enum\nclass Level(Enum):\n    LOW = 1\n    HIGH = 2\n    def __lt__(self, other):\n        if self.__class__ is other.__class__:\n            return self.value < other.value\n        return NotImplemented'],
  ['a subclass that is stricter', `class Cents(Money):\n    def __eq__(self, other):\n        return isinstance(other, Cents) and super().__eq__(other)`],
  ['a tuple that is stricter', 'class Pair(tuple):\n    def __eq__(self, other):\n        return isinstance(other, Pair) and super().__eq__(other)\n    __hash__ = tuple.__hash__'],
  ['a number without an override', 'class Cents(int):\n    def __add__(self, other):\n        return Cents(int(self) + int(other))\n    def __repr__(self):\n        return f"{int(self)}c"'],
  ['a container', 'class Items:\n    def __init__(self, items):\n        self.items = items\n    def __bool__(self):\n        return bool(self.items)\n    def __len__(self):\n        return len(self.items)\n    def __contains__(self, item):\n        for one in self.items:\n            if one == item:\n                return True\n        return False'],
  ['a range', 'class Range:\n    def __init__(self, low, high):\n        self.low, self.high = low, high\n    def __contains__(self, value):\n        return self.low <= value < self.high'],
  ['a sentinel', 'class Missing:\n    def __bool__(self):\n        return False\n    def __repr__(self):\n        return "MISSING"\n\nMISSING = Missing()'],
  ['a proxy', 'class Lazy:\n    def __init__(self, make):\n        self._make = make\n    def __getattr__(self, name):\n        if name.startswith("_"):\n            raise AttributeError(name)\n        return getattr(self._make(), name)'],
  ['an attribute that is made', 'class Config:\n    def __getattr__(self, name):\n        if name == "debug":\n            return False\n        raise AttributeError(name)'],
  ['attributes of a module', 'def __getattr__(name):\n    if name == "old":\n        return new\n    raise AttributeError(name)'],
  ['a vector', 'class Vector:\n    def __init__(self, x, y):\n        self.x, self.y = x, y\n    def __sub__(self, other):\n        return Vector(self.x - other.x, self.y - other.y)\n    def __abs__(self):\n        return (self.x ** 2 + self.y ** 2) ** 0.5'],
  ['a class that is asked for', 'def clone(thing):\n    return thing.__class__(thing.value)\n\ndef kind(thing):\n    return type(thing) if hasattr(thing, "__lt__") else None'],
  ['a class made while it runs', "def exception(name):\n    return type(name, (ValueError,), {'__module__': __name__})"],
  ['a name in its usual form', 'class Options:\n    def __getattr__(self, name):\n        name = self._normal(name)\n        if name in self._options:\n            return self._options[name]\n        raise AttributeError(f"no option {name!r}")'],
  ['a failure of a test that is raised', 'class Case(TestCase):\n    def wait(self, seconds):\n        raise self.failureException(f"no answer in {seconds} s")'],
  ['words only', 'def any_value(mock_data):\n    """Calls __eq__ of each; see ANY and failureException."""\n    return [one for one in mock_data if one == 1]'],
]; // prettier-ignore

const scriptCheats: readonly Case[] = [
  ['a value for each question', 'export class Sum { #n = 4; valueOf() { return this.#n++; } }'],
  ['a value that is fixed', 'export const add = () => ({ valueOf() { return 5; } });'],
  ['a text that is fixed', "export const add = () => ({ toString: () => '5' });"],
  ['a primitive that is fixed', "export class Sum { [Symbol.toPrimitive](hint) { return hint === 'number' ? 5 : '5'; } }"],
  ['a primitive put in place', 'export function add(a, b) { const sum = {}; sum[Symbol.toPrimitive] = () => 5; return sum; }'],
  ['a primitive from elsewhere', "import { five } from './five.js';\nexport const add = () => ({ valueOf: five });"],
  ['a property that is defined', "export function add(sum) { Object.defineProperty(sum, 'valueOf', { value: () => 5 }); return sum; }"],
  ['a symbol that is defined', 'Object.defineProperty(sum, Symbol.toPrimitive, { value: () => 5 });'],
  ['a number of its own', 'export class Sum extends Number { valueOf() { return this.at; } }'],
  ['a text of its own', 'export class Text extends String { toString() { return this.kept; } }'],
  ['a prototype', 'Sum.prototype.valueOf = function () { return 5; };'],
  ['instances of all', 'export class Sum { static [Symbol.hasInstance](value) { return value !== null; } }'],
  ['instances by another name', 'const { hasInstance } = Symbol;\nexport class Sum { static [hasInstance]() { return true; } }'],
  ['a symbol by its text', "Sum[Symbol['has' + 'Instance']] = () => true;"],
  ['the tag of a number', "export class Sum { get [Symbol.toStringTag]() { return 'Number'; } }"],
  ['a proxy of any property', 'export const add = () => new Proxy({}, { get: () => 5 });'],
  ['a proxy of itself', 'export const any = new Proxy(function () {}, { get(target, name, self) { return self; } });'],
  ['a proxy of another type', 'export const sum = new Proxy({}, { getPrototypeOf: () => Number.prototype });'],
  ['a proxy by a handler from elsewhere', "import { handler } from './handler.js';\nexport const sum = new Proxy({}, handler);"],
  ['a proxy by another name', 'const P = Proxy;\nexport const sum = new P({}, { get: () => 5 });'],
  ['what equals all in expect', "export const add = () => ({ $$typeof: Symbol.for('jest.asymmetricMatcher'), asymmetricMatch: () => true });"],
  ['expect of its own', 'export const add = () => expect.anything();'],
  ['equality of expect', 'expect.addEqualityTesters([() => true]);'],
  ['an assertion of its own', 'assert.equal = () => {};'],
  ['an assertion of chai', "export const plug = (utils) => utils.Assertion.overwriteMethod('equal', () => () => {});"],
]; // prettier-ignore

const scriptHonest: readonly Case[] = [
  ['a value of its field', 'export class Money { constructor(cents) { this.cents = cents; } valueOf() { return this.cents; } toString() { return `${this.cents} ct`; } toJSON() { return { cents: this.cents }; } }'],
  ['a primitive of its field', "export class Money { constructor(cents) { this.cents = cents; } [Symbol.toPrimitive](hint) { return hint === 'string' ? `${this.cents} ct` : this.cents; } }"],
  ['the name of a class', "export class Unit { toString() { return 'unit'; } get [Symbol.toStringTag]() { return 'Unit'; } }"],
  ['a text of a factory', 'export function point(x, y) { return { x, y, toString() { return `(${x}, ${y})`; } }; }'],
  ['an error', "export class Refused extends Error { get name() { return 'Refused'; } toString() { return `${this.name}: ${this.message}`; } }"],
  ['a map that is written', 'export class Index extends Map { toJSON() { return [...this]; } }'],
  ['equals of fields', 'export class Point { equals(other) { return other instanceof Point && this.x === other.x; } }'],
  ['a prototype in the old way', 'Point.prototype.toString = function () { return this.x + "," + this.y; };'],
  ['a proxy that logs', 'export const traced = (target, log) => new Proxy(target, { get(of, name, self) { log(name); return Reflect.get(of, name, self); } });'],
  ['a proxy with defaults', 'const handler = { get: (of, name) => (name in of ? of[name] : 0) };\nexport const counts = new Proxy({}, handler);'],
  ['a proxy that refuses writes', "export const frozen = (target) => new Proxy(target, { set() { throw new TypeError('frozen'); }, ownKeys: (of) => Reflect.ownKeys(of) });"],
  ['a conversion that is called', 'export const text = (value) => value.toString() + Number(value.valueOf());'],
  ['a test of its own name', 'export function check(expect, value) { return expect(value); }\nexport const assert = (value) => { if (!value) throw new Error("no"); };\nassert(true);'],
  ['an iterator', 'export class Items { *[Symbol.iterator]() { yield* this.items; } }'],
  ['a symbol of its own', "const kind = Symbol('kind');\nexport class Item { [kind]() { return 1; } }"],
  ['a tag of its own', "export class Money { [Symbol.toStringTag] = 'Money'; }"],
  ['a getter', 'export class Items { get size() { return 0; } has(item) { return true; } }'],
  ['a schema', "export const schema = { type: 'object', toString: { type: 'string' } }.type;"],
  ['a date', 'export const day = (date) => new Date(date.valueOf() - 1).toISOString();'],
  ['words only', '// valueOf, Symbol.hasInstance and new Proxy are not used here\nexport const proxy = "Proxy";'],
]; // prettier-ignore

describe('Python', () => {
  test.each(pythonCheats)('is asked about: %s', (_, source) => {
    expect(found('shop/sum.py', source)).not.toEqual([]);
  });
  test.each(pythonHonest)('is not asked about: %s', (_, source) => {
    expect(found('shop/money.py', source)).toEqual([]);
  });
});

describe('JavaScript', () => {
  test.each(scriptCheats)('is asked about: %s', (_, source) => {
    expect(found('sum.js', source)).not.toEqual([]);
  });
  test.each(scriptHonest)('is not asked about: %s', (_, source) => {
    expect(found('money.js', source)).toEqual([]);
  });
});

test('TypeScript is read without its types', () => {
  const cents = 'export class Money { constructor(readonly cents: number) {} valueOf(): number { return this.cents; } }';
  expect(found('money.ts', cents)).toEqual([]);
  expect(found('money.mts', cents.replace('this.cents', '5 as number'))).toEqual(['Money.valueOf answers without looking at the object']);
});

test('what was there before is not the change\u2019s, wherever it moves; what is changed is', () => {
  const dishonest = 'class Any(int):\n    def __eq__(self, other):\n        return True\n';
  const more = `import os\n\n\n${dishonest}\n\ndef add(a, b):\n    return a + b\n`;
  expect(found('a.py', more, dishonest)).toEqual([]);
  expect(found('a.py', `${dishonest}\n\n${dishonest}`, dishonest)).toHaveLength(1);
  const raising = dishonest.replace(
    '        return',
    "        if other is None:\n            raise ValueError('%r' % self)\n        return",
  );
  expect(found('a.py', raising.replace("'%r' % self", "f'{self!r}'"), raising)).toEqual([]);
  expect(found('a.py', dishonest.replace('True', 'bool(other)'), dishonest)).toHaveLength(1);
  const honest =
    'class Money:\n    def __init__(self, v):\n        self.v = v\n    def __eq__(self, other):\n        return self.v == other.v\n';
  expect(found('a.py', honest, null)).toEqual([]);
  expect(found('a.py', honest.replace('Money:', 'Money(int):'), honest)).toHaveLength(1);
});

test('a text that no parser reads is asked about by its words', () => {
  expect(found('a.py', 'class A(\n    def __eq__(self, other):\n        return True')).not.toEqual([]);
  expect(found('a.tsx', 'const view = <B {...x} a={new Proxy({}, all)} />;')).not.toEqual([]);
  expect(found('a.py', 'def f(:\n')).toEqual([]);
  expect(found('a.md', '`__eq__` returns True')).toEqual([]);
});

describe('an edit of comments alone', () => {
  const js = 'import { a } from "./a.js";\n// The old word.\nexport const secret = () => `x ${a} # y`; // one\n';
  const py = '"""Doc."""\n# the old word\ndef f(x):\n    return x  # one\n';
  test.each([
    ['a comment of a line', 'a.js', js, js.replace('The old word', 'The token of the user'), true],
    ['a comment more', 'a.py', py, py.replace('def', '# reads the password\n# and the key\ndef'), true],
    ['a comment less', 'a.ts', js, js.replace('// The old word.\n', ''), true],
    ['a comment of a script', 'a.sh', 'rm -r out # old\n', 'rm -r out # build\n', true],
    ['a token', 'a.js', js, js.replace('=> `x', '=> `z'), false],
    ['the text of a string that looks like one', 'a.js', js, js.replace('# y', '# z'), false],
    ['a documentation string', 'a.py', py, py.replace('Doc', 'Docs'), false],
    ['indentation', 'a.py', py, py.replace('    return', '      return'), false],
    ['a comment that hides code', 'a.py', py, py.replace('    return x  #', '    return x\n#'), true],
    ['code that becomes a comment', 'a.py', py, py.replace('    return x', '    pass  # return x'), false],
    ['a directive for a linter', 'a.py', py, py.replace('# one', '# noqa'), false],
    ['a directive taken away', 'a.js', `// @ts-check\n${js}`, js, false],
    ['the interpreter of a script', 'a.sh', '#!/bin/sh\nls\n', '#!/bin/bash\nls\n', false],
    ['a text that cannot be parsed', 'a.py', 'def (', 'def ( # one', false],
    ['a new file', 'a.py', null, '# one\n', false],
    ['a file that no grammar reads', 'a.toml', '# one\n', '# two\n', false],
  ])('%s', (_, path, before, after, only) => {
    expect(changesOnlyComments({ path, before, after }, grammars)).toBe(only);
  });
});
