import { testOperator } from '../testing/table.ts';
import { missingThrow } from './missingThrow.ts';

testOperator(missingThrow, [
  { before: "function f() {\n  return new Error('x');\n}\n", after: "function f() {\n  throw new Error('x');\n}\n" },
  { before: "function f() {\n  throw new Error('x');\n}\n", after: 'function f() {\n  return null;\n}\n' },
]);
