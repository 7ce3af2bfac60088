import { Refusal } from '../../src/base/errors.ts'

/** Returns the value of a reader, or `reason: message`. */
export const said = (read: () => unknown): unknown => {
  try {
    return read()
  } catch (error) {
    if (error instanceof Refusal) return `${error.reason}: ${error.message}`
    throw error
  }
}
