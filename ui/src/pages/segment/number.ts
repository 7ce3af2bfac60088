const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i
const hexadecimal = /^[+-]?0x(?:[\da-f]+(?:\.[\da-f]*)?|\.[\da-f]+)p[+-]?\d+$/i
const named = /^(?:[+-]?inf(?:inity)?|nan)$/i
const inList = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i

/** Whether the service parses a text as a finite number (api.md §8.4). */
export const isNumber = (text: string): boolean =>
  decimal.test(text) ? Number.isFinite(Number(text)) : hexadecimal.test(text) || named.test(text)

/** Whether a text is a finite number in the format of list items. */
export const isListNumber = (text: string): boolean => inList.test(text) && Number.isFinite(Number(text))
