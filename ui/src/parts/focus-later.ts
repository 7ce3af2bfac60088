import { useEffect, useRef, useState } from 'react'

/**
 * Focuses a control of a list item (`data-part`, `data-act`) after the list has rendered; falls back to the heading of
 * the list.
 */
export const useFocusLater = () => {
  const list = useRef<HTMLElement>(null)
  const [wanted, setWanted] = useState<{ readonly id: string | undefined; readonly act: string } | undefined>()
  useEffect(() => {
    if (!wanted) return
    const { id, act } = wanted
    const part = [...(list.current?.querySelectorAll<HTMLElement>('[data-part]') ?? [])].find(
      ({ dataset }) => dataset['part'] === id,
    )
    const place =
      part?.querySelector<HTMLElement>(`[data-act=${act}]`) ?? list.current?.querySelector<HTMLElement>('h2')
    place?.focus()
  }, [wanted])
  return { list, focusLater: (id: string | undefined, act: string) => setWanted({ id, act }) }
}
