/** How many live static tokens each credential has made, kept by a small number for each credential that has any. Those without a maker are one maker's. */
export const tokenMakers = () => {
  const numbers = new Map<string, number>()
  const names: string[] = []
  const counts: number[] = []
  const free: number[] = []
  return {
    /** One token more of this maker; gives the maker's number. */
    add: (maker = ''): number => {
      let number = numbers.get(maker)
      if (number === undefined) {
        number = free.pop() ?? names.length
        numbers.set(maker, number)
        names[number] = maker
        counts[number] = 0
      }
      counts[number]!++
      return number
    },
    /** One token less of the maker with this number. */
    remove: (number: number): void => {
      if (--counts[number]! > 0) return
      numbers.delete(names[number]!)
      free.push(number)
    },
    /** All makers by their numbers; a number that is free has any name. */
    all: (): readonly string[] => [...names],
    count: (maker = ''): number => counts[numbers.get(maker) ?? -1] ?? 0,
  }
}
