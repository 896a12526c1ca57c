import { testOperator } from '../testing/table.ts';
import { missingArgument } from './missingArgument.ts';

testOperator(missingArgument, [
  // Names that every object has are ordinary names in Python.
  { before: 'x = a.constructor(b, c) + toString(d)\n', after: 'x = a.constructor(b) + toString(d)\n' },
  { before: "a, b = x.split('=')\n", after: "a, b = x.split('=', 1)\n" },
  { before: 'x = max(v for v in xs)\n', after: 'x = max((v for v in xs), default=0)\n' },
  { before: 'def walk(node, depth=0):\n    walk(node.next)\n', after: 'def walk(node, depth=0):\n    walk(node.next, depth + 1)\n' },
  { before: 'x = f(a, b)\n', after: 'x = f(a)\n' },
]);
