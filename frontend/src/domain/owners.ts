/** Who owns what no team owns. */
export const INSTALLATION = 'Installation'

export const ownerWords = (team: string | null) => team ?? INSTALLATION
