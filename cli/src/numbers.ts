import { InvalidArgumentError } from 'commander';

/** Reads an option that is a whole number within bounds. */
export const wholeNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new InvalidArgumentError(`write a whole number from ${least} to ${most}`);
    return value;
  };
