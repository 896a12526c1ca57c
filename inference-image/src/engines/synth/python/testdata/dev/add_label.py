def add_label(name, labels=[]):
    name = name.strip().lower()
    if name and name not in labels:
        labels.append(name)
    return labels
