interface Item {
  readonly price: number;
  readonly discount?: number;
}

/** What an item costs; without a discount of its own the shop's applies. */
export function priceAfter(item: Item, shopDiscount: number): number {
  const percent = item.discount || shopDiscount;
  const price = item.price * (100 - percent);
  return Math.round(price) / 100;
}
