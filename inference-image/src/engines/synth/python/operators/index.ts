import type { Operator } from '../operator.ts';
import { addCondition } from './addCondition.ts';
import { arithmetic } from './arithmetic.ts';
import { baseCase } from './baseCase.ts';
import { booleanOperator } from './booleanOperator.ts';
import { comparison } from './comparison.ts';
import { constant } from './constant.ts';
import { convert } from './convert.ts';
import { dropTerm } from './dropTerm.ts';
import { elseBranch } from './elseBranch.ts';
import { exceptionType } from './exceptionType.ts';
import { fileLiteral } from './fileLiteral.ts';
import { guardStatement } from './guardStatement.ts';
import { increment } from './increment.ts';
import { initialValue } from './initialValue.ts';
import { integerOffset } from './integerOffset.ts';
import { literalName } from './literalName.ts';
import { loopExit } from './loopExit.ts';
import { loopRange } from './loopRange.ts';
import { missingArgument } from './missingArgument.ts';
import { missingCopy } from './missingCopy.ts';
import { missingReturn } from './missingReturn.ts';
import { mutableDefault } from './mutableDefault.ts';
import { nearMethod } from './nearMethod.ts';
import { negation } from './negation.ts';
import { replaceName } from './replaceName.ts';
import { returnValue } from './returnValue.ts';
import { reuseExpression } from './reuseExpression.ts';
import { sliceBounds } from './sliceBounds.ts';
import { statementCopy } from './statementCopy.ts';
import { statementDelete } from './statementDelete.ts';
import { statementMove } from './statementMove.ts';
import { swapArguments } from './swapArguments.ts';
import { update } from './update.ts';

/** Every operator for Python, one file each; a new one takes part once it stands here. */
export const operators: readonly Operator[] = [
  addCondition,
  arithmetic,
  baseCase,
  booleanOperator,
  comparison,
  constant,
  convert,
  dropTerm,
  elseBranch,
  exceptionType,
  fileLiteral,
  guardStatement,
  increment,
  initialValue,
  integerOffset,
  literalName,
  loopExit,
  loopRange,
  missingArgument,
  missingCopy,
  missingReturn,
  mutableDefault,
  nearMethod,
  negation,
  replaceName,
  returnValue,
  reuseExpression,
  sliceBounds,
  statementCopy,
  statementDelete,
  statementMove,
  swapArguments,
  update,
];
