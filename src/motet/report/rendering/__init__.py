"""Parts of all reports: folders, number formats, colours, tables, figures, text plots."""
