import { testOperator } from '../testing/table.ts';
import { returnValue } from './returnValue.ts';

testOperator(returnValue, [
  { before: 'function f(a) {\n  const b = a + 1;\n  return a + 2;\n}\n', after: 'function f(a) {\n  const b = a + 1;\n  return b;\n}\n' },
  { before: 'function f(a) {\n  return true;\n}\n', after: 'function f(a) {\n  return false;\n}\n' },
]);
