const SLICE_MS = 8

/** Lets the page handle input and draw. */
const turn = (): Promise<void> => {
  const { scheduler } = globalThis as { readonly scheduler?: { readonly yield?: () => Promise<void> } }
  if (scheduler?.yield) return scheduler.yield()
  return new Promise((done) => {
    const { port1, port2 } = new MessageChannel()
    const onTurn = () => {
      port1.close()
      done()
    }
    port1.addEventListener('message', onTurn)
    port1.start()
    port2.postMessage(0)
  })
}

/**
 * Divides long work into slices of 8 ms. The function that it returns is called after each short step; at the end of a
 * slice it returns a promise to await.
 */
export const slices = (): (() => Promise<void> | undefined) => {
  let began = performance.now()
  return () => {
    if (performance.now() - began < SLICE_MS) return undefined
    return turn().then(() => {
      began = performance.now()
    })
  }
}
