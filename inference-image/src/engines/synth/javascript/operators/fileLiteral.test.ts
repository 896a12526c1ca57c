import { testOperator } from '../testing/table.ts';
import { fileLiteral } from './fileLiteral.ts';

testOperator(fileLiteral, [{ before: 'x = 60;\ny = 24;\n', after: 'x = 24;\ny = 24;\n' }]);
