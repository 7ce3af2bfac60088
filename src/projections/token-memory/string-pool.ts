/** Pool of texts with reference counts. Each text has a small number; the number of an unused text is reused. */
export const stringPool = () => {
  const numbers = new Map<string, number>()
  const texts: string[] = []
  const counts: number[] = []
  const free: number[] = []
  return {
    /** Adds a reference to the text. Returns its number. */
    add: (text = ''): number => {
      let number = numbers.get(text)
      if (number === undefined) {
        number = free.pop() ?? texts.length
        numbers.set(text, number)
        texts[number] = text
        counts[number] = 0
      }
      counts[number]!++
      return number
    },
    /** Removes a reference. Returns true if it was the last. */
    remove: (number: number): boolean => {
      if (--counts[number]! > 0) return false
      numbers.delete(texts[number]!)
      texts[number] = ''
      free.push(number)
      return true
    },
    number: (text = ''): number | undefined => numbers.get(text),
    text: (number: number): string => texts[number]!,
    /** Number of references. */
    having: (number: number): number => counts[number]!,
    /** All texts by number; empty for a free number. */
    all: (): readonly string[] => [...texts],
    count: (text = ''): number => counts[numbers.get(text) ?? -1] ?? 0,
  }
}
