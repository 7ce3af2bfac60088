/** Texts by small numbers, and how many have each; a number that nothing has any more is given to another text. */
export const stringPool = () => {
  const numbers = new Map<string, number>()
  const texts: string[] = []
  const counts: number[] = []
  const free: number[] = []
  return {
    /** One more of this text; gives the text's number. */
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
    /** One less of the text with this number; true where it was the last. */
    remove: (number: number): boolean => {
      if (--counts[number]! > 0) return false
      numbers.delete(texts[number]!)
      texts[number] = ''
      free.push(number)
      return true
    },
    number: (text = ''): number | undefined => numbers.get(text),
    text: (number: number): string => texts[number]!,
    /** How many have the text with this number. */
    having: (number: number): number => counts[number]!,
    /** All texts by their numbers; of a number that is free the empty one. */
    all: (): readonly string[] => [...texts],
    count: (text = ''): number => counts[numbers.get(text) ?? -1] ?? 0,
  }
}
