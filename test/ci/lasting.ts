import root from 'tap'

/** Resource that outlives a test file: the types of its handles in Node, and its end. */
type Lasting = { readonly handles: readonly string[]; readonly end: () => unknown }

const lasting: Lasting[] = []
let hasMoreFiles = false

/** Keeps resources for the next files of the process (`together.ts`). */
export const keepForFiles = (): void => void (hasMoreFiles = true)

/** Registers a resource. It ends with the process, which is after the tests of the file unless more files follow. */
export const endsWithProcess = (resource: Lasting): void => {
  if (hasMoreFiles) lasting.push(resource)
  else root.teardown(resource.end)
}

/** Returns the types of the handles of all registered resources. */
export const lastingHandles = (): readonly string[] => lasting.flatMap(({ handles }) => handles)

/** Ends all registered resources. */
export const endLasting = async (): Promise<void> => {
  for (const { end } of lasting.splice(0)) await end()
}
