/** Lets a number of holders in at once. Who comes then waits in line; a place that is left goes to the first of the line. */
export const semaphore = (places: number) => {
  const line: (() => void)[] = []
  let free = places
  return {
    /** Nothing to wait for when there is a place. */
    enter: (): Promise<void> | undefined => {
      if (free === 0) return new Promise((resolve) => line.push(resolve))
      free--
      return undefined
    },
    leave: (): void => {
      const next = line.shift()
      if (next) next()
      else free++
    },
  }
}
