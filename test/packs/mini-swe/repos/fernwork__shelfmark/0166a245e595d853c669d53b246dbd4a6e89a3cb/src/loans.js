const day = 24 * 60 * 60 * 1000;

/** Who has which book until when. Dates are ISO days. */
export class Loans {
  constructor({ days = 28, limit = 5 } = {}) {
    this.days = days;
    this.limit = limit;
    this.byBook = new Map();
  }

  lend(book, reader, today) {
    if (this.byBook.has(book)) throw new Error(`${book} is lent`);
    if (this.of(reader).length > this.limit) throw new Error(`${reader} has too many books`);
    this.byBook.set(book, { reader, due: addDays(today, this.days), renewals: 0 });
  }

  renew(book, today) {
    const loan = this.byBook.get(book);
    loan.due = addDays(today, this.days);
    loan.renewals += 1;
    return loan.due;
  }

  giveBack(book) {
    this.byBook.delete(book);
  }

  of(reader) {
    return [...this.byBook].filter(([, loan]) => loan.reader === reader).map(([book]) => book);
  }

  /** 10 cents per day, from the day after the due one. */
  fine(book, today) {
    const loan = this.byBook.get(book);
    return ((Date.parse(today) - Date.parse(loan.due)) / day) * 10;
  }
}

export function addDays(date, days) {
  return new Date(Date.parse(date) + days * day).toISOString().slice(0, 10);
}
